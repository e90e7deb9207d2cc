import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { freemem, totalmem } from 'node:os'
import type { Settings } from '../../base/settings.ts'
import { version } from '../../base/version.ts'
import type { MachineFacts } from '../command-io.ts'
import { formatBytes, formatCount } from '../output/format-amount.ts'
import { type Finding, ok, problem, warning } from './doctor-report.ts'

const oldestNode = [20, 19] as const
const recommendedFiles = 4_096
const recommendedMemory = 2 ** 30

export function checkMachine(machine: MachineFacts, settings: Settings | undefined): Finding[] {
  return [
    ok('package', `Wellhead ${version}`),
    checkNode(machine.nodeVersion),
    ...(settings?.clickhouseUrl === undefined ? [checkLibc(machine), checkLibrary(machine, settings)] : []),
    checkMemory(settings),
    ...checkOpenFiles(readLimits()),
  ]
}

export function checkNode(nodeVersion: string): Finding {
  const [major = 0, minor = 0] = nodeVersion.replace(/^v/, '').split('.').map(Number)
  const [oldestMajor, oldestMinor] = oldestNode
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return ok('node', nodeVersion)
  return problem('node', `${nodeVersion} is too old.`, `Install Node ${oldestNode.join('.')} or newer.`)
}

const useServer = 'Use a ClickHouse server with WELLHEAD_CLICKHOUSE_URL.'

export function checkLibc({ platform, glibcVersion }: MachineFacts): Finding {
  if (platform !== 'linux') return ok('libc', `not needed on ${platform}`)
  const found = glibcVersion()
  if (found) return ok('libc', `glibc ${found}`)
  return problem('libc', 'The embedded engine needs glibc, which is missing.', useServer)
}

const libraries: Partial<Record<string, string>> = {
  'linux-x64': '@chdb/lib-linux-x64-gnu',
  'linux-arm64': '@chdb/lib-linux-arm64-gnu',
  'darwin-x64': '@chdb/lib-darwin-x64',
  'darwin-arm64': '@chdb/lib-darwin-arm64',
}

function checkLibrary({ platform, arch }: MachineFacts, settings: Settings | undefined): Finding {
  const name = 'library'
  const { engineNode } = settings ?? {}
  if (engineNode !== undefined) {
    if (existsSync(engineNode)) return ok(name, `the one of ${engineNode}`)
    return problem(name, `${engineNode} does not exist.`, 'Correct or unset WELLHEAD_ENGINE_NODE.')
  }
  const library = libraries[`${platform}-${arch}`]
  if (library === undefined) return problem(name, `No engine for ${platform} on ${arch}.`, useServer)
  try {
    createRequire(import.meta.url).resolve(library)
    return ok(name, library)
  } catch {
    const advice = `Install Wellhead again with optional packages, or: ${useServer}`
    return problem(name, `${library} is not installed.`, advice)
  }
}

function checkMemory(settings: Settings | undefined): Finding {
  const total = totalmem()
  const text = `${formatBytes(total)}, ${formatBytes(freemem())} free`
  const configured = (settings?.engineMemory ?? 0) + (settings?.cacheMemory ?? 0)
  if (configured > total) {
    const message = `${text}; engine and cache may use ${formatBytes(configured)}.`
    return problem('memory', message, 'Lower WELLHEAD_ENGINE_MEMORY or WELLHEAD_CACHE_MEMORY.')
  }
  if (total >= recommendedMemory) return ok('memory', text)
  return warning('memory', text, 'Large queries may fail. Use at least 1 GiB.')
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}

/** Empty if the system does not report its limits. */
export function checkOpenFiles(limits: string): Finding[] {
  const soft = /^Max open files {1,99}(unlimited|\d+)/m.exec(limits)?.[1]
  if (soft === undefined) return []
  if (soft === 'unlimited') return [ok('open files', soft)]
  const count = formatCount(Number(soft))
  if (Number(soft) >= recommendedFiles) return [ok('open files', count)]
  const advice = `Raise it to at least ${formatCount(recommendedFiles)} with ulimit -n or LimitNOFILE in the systemd unit.`
  return [warning('open files', `The limit of open files is ${count}.`, advice)]
}
