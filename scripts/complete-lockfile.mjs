/**
 * Adds platform packages that the registry in use lacks to package-lock.json. npm omits them when it writes the file, and
 * `npm ci` then rejects it. Run this after every `npm install`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const path = fileURLToPath(new URL('../package-lock.json', import.meta.url))
const lock = JSON.parse(readFileSync(path, 'utf8'))

const systems = [
  'darwin',
  'linux',
  'win32',
  'android',
  'freebsd',
  'openharmony',
  'netbsd',
  'openbsd',
  'sunos',
  'aix',
]
const processors = [
  'arm64',
  'x64',
  'ia32',
  'arm',
  'riscv64',
  'ppc64',
  's390x',
  'loong64',
  'mips64el',
  'wasm32',
]

/** The platform of a package, from its name. */
function platformOf(name) {
  const parts = name.split(/[/-]/)
  const os = parts.filter((part) => systems.includes(part))
  const cpu = parts.filter((part) => processors.includes(part))
  const libc = parts.includes('musl') ? ['musl'] : parts.includes('gnu') ? ['glibc'] : []
  return { ...(cpu.length > 0 && { cpu }), ...(libc.length > 0 && { libc }), ...(os.length > 0 && { os }) }
}

let added = 0
for (const entry of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`
    if (lock.packages[key] !== undefined || !/^\d/.test(version)) continue
    lock.packages[key] = { version, ...platformOf(name), ...(entry.dev && { dev: true }), optional: true }
    added++
  }
}
lock.packages = Object.fromEntries(
  Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
)
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`${added} packages added`)
