#!/bin/sh
# Links bin/lua5.4 and bin/luajit of an unpacked bundle.
set -e
cc=${CC:-gcc}
$cc -O2 -Iinclude/lua5.4 -o bin/lua5.4 .ci/gpu/host.c -Wl,-E -no-pie lib/liblua5.4.a -lm -ldl
$cc -O2 -Iinclude/luajit-2.1 -o bin/luajit .ci/gpu/host.c -Wl,-E -no-pie lib/libluajit-5.1.a -lm -ldl
