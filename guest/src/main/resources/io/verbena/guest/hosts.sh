# Makes two RDMA "hosts", A and B, of one kernel, each a network interface with an rxe device, joined by a switch:
#
#   rxeA - vethA === cableA - switch - cableB === vethB - rxeB
#
# rxe does not follow network namespaces, so all of it stays in the initial one, and policy routing sends traffic between the two
# addresses over the wire. Taking a cable down leaves addresses, routes and neighbours of the hosts alone. The names and addresses
# are those of io.verbena.guest.GuestHost.
set -e
device() { [ "$1" = A ] && echo vethA || echo vethB; }
peer() { [ "$1" = A ] && echo B || echo A; }
receives_on() { [ "$1" = B ] && [ "$(nproc)" -gt 1 ] && echo 2 || echo 1; }
address4() { [ "$1" = A ] && echo 10.1.0.1 || echo 10.1.0.2; }
address6() { [ "$1" = A ] && echo fd01::1 || echo fd01::2; }

# 4200 = 4096 of RDMA payload and its headers.
ip link add switch mtu 4200 type bridge stp_state 0 forward_delay 0 mcast_snooping 0
ip link set switch up
for host in A B; do
    device=$(device $host)
    cable=cable$host
    ip link add $device mtu 4200 type veth peer name $cable mtu 4200
    echo 1 >/proc/sys/net/ipv6/conf/$cable/disable_ipv6
    ip link set $cable master switch up
    # An address that is being checked for duplicates is no GID yet.
    echo 0 >/proc/sys/net/ipv6/conf/$device/accept_dad
    ip link set $device up
    # What a host receives, its processor handles (bit mask). Otherwise each packet is queued on the processor that sent it, they
    # overtake one another, and rxe asks for them again: a wire that reorders. With one processor both masks name it.
    for queue in /sys/class/net/$device/queues/rx-* /sys/class/net/$cable/queues/rx-*; do
        echo $(receives_on $host) >$queue/rps_cpus
    done
done
for host in A B; do
    device=$(device $host)
    ip addr add $(address4 $host)/32 dev $device
    ip addr add $(address6 $host)/128 dev $device nodad
done
for interface in vethA vethB all; do
    # The sender's address is one of ours.
    echo 1 >/proc/sys/net/ipv4/conf/$interface/accept_local
    echo 0 >/proc/sys/net/ipv4/conf/$interface/rp_filter
done

for family in 4 6; do
    # The table of local addresses comes after the rules below, or every packet between A and B would go through lo.
    ip -$family rule add pref 100 lookup local
    ip -$family rule del pref 0
    table=101
    for host in A B; do
        device=$(device $host)
        remote=$(peer $host)
        to=$(address$family $remote)
        mac=$(cat /sys/class/net/$(device $remote)/address)
        ip -$family neigh replace $to lladdr $mac dev $device nud permanent
        ip -$family route add $to dev $device src $(address$family $host) table $table
        # Sockets of this machine; the RDMA CM, which looks routes up by device.
        ip -$family rule add pref $((table - 80)) iif lo to $to lookup $table
        ip -$family rule add pref $((table - 90)) oif $device to $to lookup $table
        table=$((table + 1))
    done
done

for host in A B; do
    rdma link add rxe$host type rxe netdev $(device $host)
done
