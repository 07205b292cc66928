#!/bin/busybox sh
# The guest's first process: loads the modules, mounts the host's root below a writable overlay, runs /exchange/command there, leaves
# its exit status in /exchange/status and powers off. The kernel's command line has verbena.limit, the seconds after which power
# is cut, and verbena.hugepages. What goes wrong here is printed on the console, which the host keeps.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
dmesg -n 1

fail() {
    echo "guest: $*"
    poweroff -f
}

for word in $(cat /proc/cmdline); do
    case $word in
        verbena.limit=*) limit=${word#*=} ;;
        verbena.hugepages=*) echo "${word#*=}" >/proc/sys/vm/nr_hugepages ;;
    esac
done

(
    sleep "$limit"
    echo "guest: the limit of $limit s is reached"
    # Thread dumps go where the output goes.
    chroot /newroot busybox killall -QUIT java && sleep 5
    poweroff -f
) &

for module in /modules/*; do
    insmod "$module" || fail "cannot load $module"
done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /lower || fail "cannot mount the host's root"
mount -t tmpfs -o size=75% upper /upper || fail "cannot mount the overlay's memory"
mkdir /upper/data /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work root /newroot || fail "cannot mount the overlay"
for directory in proc sys dev; do mount --move "/$directory" "/newroot/$directory"; done
mkdir -p /newroot/dev/shm /newroot/dev/pts /newroot/exchange
mount -t tmpfs -o size=75% shm /newroot/dev/shm
mount -t devpts pts /newroot/dev/pts
mount -t tmpfs run /newroot/run
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none exchange /newroot/exchange || fail "cannot mount the exchange"
ip link set lo up
# A name that resolves: Java asks for the address of its own host.
hostname localhost

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
ulimit -l unlimited
chroot /newroot /bin/sh -c 'cd /exchange && exec /bin/sh ./command </dev/null >stdout 2>stderr'
echo $? >/newroot/exchange/status
sync
poweroff -f
