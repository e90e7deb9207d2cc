import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const require = createRequire(import.meta.url)

/** Where and with what a run was made: without it a figure cannot be compared with another. */
export function describeMachine({ emulated, nowMs }) {
  return {
    date: new Date(nowMs).toISOString().slice(0, 16).replace('T', ' ').concat(' UTC'),
    commit: commitOf(),
    processor: `${processorName()}, ${cpus().length} cores`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: systemName(),
    node: process.version,
    engine: `chdb ${versionOf('chdb')}, ${emulated ? 'emulated (x64 on arm64)' : 'native'}`,
    duckdb: versionOf('@duckdb/node-api'),
    postgres: programVersion('psql'),
    wrk: programVersion('wrk'),
    load: `${loadavg()[0].toFixed(1)} before the run`,
  }
}

function versionOf(packageName) {
  // A package need not export its package.json, but it lies beside what it exports.
  const paths = require.resolve.paths(packageName) ?? []
  for (const path of paths) {
    try {
      return JSON.parse(readFileSync(`${path}/${packageName}/package.json`, 'utf8')).version
    } catch {}
  }
  return 'not installed'
}

function programVersion(program) {
  return /\d+\.[\d.]+/.exec(firstLine(program, ['--version']) ?? '')?.[0] ?? 'not installed'
}

function commitOf() {
  const commit = firstLine('git', ['-C', repository, 'rev-parse', '--short', 'HEAD'])
  if (commit === undefined) return 'unknown'
  const changed = firstLine('git', ['-C', repository, 'status', '--porcelain', '--', 'src', 'bench'])
  return changed ? `${commit}, with changes` : commit
}

function processorName() {
  const known = cpus()[0]?.model?.trim()
  if (known && known !== 'unknown') return known
  const lines = output('lscpu', []) ?? ''
  return /^Model name:\s*(.+)$/m.exec(lines)?.[1] ?? process.arch
}

function systemName() {
  const kernel = `${type()} ${release()}`
  try {
    const name = /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1]
    return name ? `${name}, ${kernel}` : kernel
  } catch {
    return kernel
  }
}

function firstLine(program, args) {
  return output(program, args)?.split('\n')[0]?.trim() || undefined
}

function output(program, args) {
  try {
    return execFileSync(program, args, { stdio: ['ignore', 'pipe', 'ignore'] }).toString()
  } catch (error) {
    // wrk tells its version and then fails.
    return error.stdout?.length > 0 ? error.stdout.toString() : undefined
  }
}
