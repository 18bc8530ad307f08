#!/usr/bin/env bash
# .ci/rock.sh VERSION [SPEC...]: the rock for Lua 5.4 or LuaJIT (5.1) as a user gets it: `luarocks make` into a scratch tree, then specs and an
# example with nothing but what `luarocks path` says, from a folder in which neither lua/ nor build/ is to be seen. With --refusals instead of a
# version: what other Luas on this machine are told.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
for v in $(compgen -v | grep -E '^(TEMPO_|LUA_)'); do unset "$v"; done

if [ "${1:-}" = --refusals ]; then
  asked=0
  for lua in lua5.1 lua5.2 lua5.3; do
    command -v "$lua" >/dev/null || continue
    said=$(LUA_PATH="$root/lua/?.lua;$root/lua/?/init.lua" LUA_CPATH="$root/build/5.1/?.so" "$lua" -e 'require "tempo"' 2>&1 || true)
    grep -q "tempo runs under Lua 5.4 and LuaJIT 2.1; this is Lua ${lua#lua}" <<<"$said" || { echo "$lua: $said" >&2; exit 1; }
    asked=$((asked + 1))
    [ "$lua" = lua5.1 ] || continue             # which would load the module for LuaJIT
    said=$(LUA_PATH= LUA_CPATH="$root/build/5.1/?.so" "$lua" -e 'require "tempo"' 2>&1 || true)
    grep -q "tempo runs under" <<<"$said" || { echo "$lua without init.lua: $said" >&2; exit 1; }
  done
  echo "rock: $asked other Luas were refused"
  exit 0
fi

version=${1:?5.4 or 5.1}; shift
options=()
case $version in
  5.4) lua=lua5.4 ;;
  5.1) lua=luajit; options=("LUA_INCDIR=$(pkg-config --variable=includedir luajit)") ;;
  *) echo "tempo runs under Lua 5.4 and LuaJIT 2.1; there is no rock for Lua $version" >&2; exit 1 ;;
esac
specs=("$@")
[ ${#specs[@]} -gt 0 ] || specs=(spec/{array,read,branch,call,params,nn,optim,random}_spec.lua)

tree="$root/build/rock tree"                    # with a space, as in a user's home
rm -rf "$tree/$version"
luarocks --lua-version "$version" make --tree "$tree/$version" "${options[@]}"
mkdir -p "$tree/work"
ln -sfn "$root/spec" "$tree/work/spec"
ln -sfn "$root/.ci" "$tree/work/.ci"
cd "$tree/work"
eval "$(luarocks --lua-version "$version" --tree "$tree/$version" path)"
"$lua" "$tree/$version/lib/luarocks/rocks-$version/tempo/scm-1/examples/fibonacci.lua"
"$lua" .ci/busted.lua --output=.ci/busted_output.lua --pattern=_spec%.lua$ "${specs[@]}"
