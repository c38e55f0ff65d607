#!/bin/sh
# Boots Debian's kernel for aarch64 in an emulator and runs the jail's tests on it, as `init.sh` says.
# Usage: [PYTHON=python3] tools/aarch64/boot.sh [PYTEST ARGUMENT]...
#
# Needs Debian with qemu-system-arm and cpio, a Python with pip, and no root. Packages come from where apt and pip are
# set up to look: 100 MB at the first run, kept in build/aarch64 until that is removed.
set -eu
umask 022
for needed in qemu-system-aarch64 cpio apt-get; do
    command -v "$needed" > /dev/null || { echo "$needed is missing: apt-get install qemu-system-arm cpio"; exit 1; }
done
cd "$(dirname "$0")/../.."
out=$PWD/build/aarch64
python=${PYTHON:-python3}

# A package manager's state of its own, where nothing is installed: it then fetches all that a package stands on.
fetch_packages() {
    mkdir -p "$out/apt/lists/partial" "$out/apt/archives/partial"
    : > "$out/apt/status"
    cat > "$out/apt/conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Dir::State "$out/apt";
Dir::State::status "$out/apt/status";
Dir::Cache "$out/apt";
END
    export APT_CONFIG="$out/apt/conf"
    apt-get --quiet --quiet update
    apt-get --quiet --quiet --yes --download-only install linux-image-cloud-arm64 linux-libc-dev \
        bubblewrap coreutils dash iproute2 libstdc++6 mount python3 util-linux
}

# No package's scripts are run: unpacked, these work.
unpack() {
    rm -rf "$out/tree"
    for folder in bin lib sbin; do
        mkdir -p "$out/tree/usr/$folder"
        ln -s "usr/$folder" "$out/tree/$folder"
    done
    for package in "$out"/apt/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$out/tree" --keep-directory-symlink --same-permissions \
            --exclude='./lib/modules' --exclude='./usr/lib/modules' --exclude='./usr/share/[dilmp]*'
    done
    mv "$out"/tree/boot/vmlinuz-* "$out/vmlinuz"
    rm -rf "$out/tree/boot"
    (cd "$out/tree" && mkdir -p dev etc home/user mnt proc run sys tmp)
    printf 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n' > "$out/tree/etc/passwd"
    printf 'root:x:0:\nuser:x:1000:\n' > "$out/tree/etc/group"
}

install_python_packages() {
    awk '/^[a-z]/ {keep = /^(hypothesis|iniconfig|packaging|pluggy|pytest|sortedcontainers)==/} keep' \
        requirements/dev.txt > "$out/tests.txt"
    version=$(basename "$out"/tree/usr/lib/python3.[0-9]*)
    "$python" -m pip --disable-pip-version-check --quiet install --only-binary=:all: --implementation cp \
        --python-version "${version#python}" --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 \
        --target "$out/tree/usr/local/lib/$version/dist-packages" \
        --require-hashes --requirement requirements/core.txt --requirement "$out/tests.txt"
}

archive() {
    (cd "$1" && find . | cpio --quiet --create --format=newc --owner=0:0)
}

if ! [ -e "$out/base.cpio" ]; then
    fetch_packages
    unpack
    install_python_packages
    archive "$out/tree" > "$out/base.part"
    mv "$out/base.part" "$out/base.cpio"
fi

rm -rf "$out/ours"
mkdir -p "$out/ours/truegrade"
cp tools/aarch64/init.sh "$out/ours/init"
chmod 755 "$out/ours/init"
cp -R src tests pyproject.toml "$out/ours/truegrade"
chmod -R a+rX "$out/ours"
find "$out/ours" -name __pycache__ -prune -exec rm -rf {} +
# What a kernel has a say in. The two left out count on more than this processor does in a second.
[ $# -gt 0 ] || set -- tests/sandbox/test_seccomp.py tests/sandbox/test_32_bit_programs.py \
    tests/sandbox/test_honest_calls.py tests/sandbox/test_levels.py tests/sandbox/test_escapes.py \
    tests/sandbox/test_sandbox_modes.py tests/sandbox/test_sandbox_forgeries.py \
    tests/sandbox/test_sandbox_resources.py tests/sandbox/test_judge_life.py tests/sandbox/test_mixed.py \
    -k 'not (too_large and 6-output_limit) and not each_sample_has_limits'
printf '%s\n' "$@" > "$out/ours/truegrade/arguments"
archive "$out/ours" | cat "$out/base.cpio" - > "$out/initrd"

# -icount: the guest's clock counts instructions, a nanosecond each, and skips what it sleeps. Limits in seconds so mean
# the same however slow the emulation is and whatever else the machine does. All processors share that count: hence one.
qemu-system-aarch64 -machine virt -cpu max,pauth-impdef=on -m 3072 -icount shift=0,sleep=off \
    -kernel "$out/vmlinuz" -initrd "$out/initrd" -append 'console=ttyAMA0 quiet panic=-1' \
    -nographic -no-reboot -nic none < /dev/null | sed -u 's,\r$,,' | tee "$out/console.log"
grep -qx 'all of it passed' "$out/console.log"
