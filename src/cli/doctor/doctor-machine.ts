import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { freemem, totalmem } from 'node:os'
import type { Settings } from '../../base/settings.ts'
import { version } from '../../base/version.ts'
import type { MachineFacts } from '../command-io.ts'
import { formatBytes, formatCount } from '../output/format-amount.ts'
import { type Finding, ok, problem, warning } from './doctor-report.ts'

const oldestNode = [20, 19] as const
const fewFiles = 4_096
const littleMemory = 2 ** 30

/** What the machine brings: versions, the engine's library, memory, and how many files may be open. */
export function checkMachine(machine: MachineFacts, settings: Settings | undefined): Finding[] {
  return [
    ok('package', `Wellhead ${version}`),
    checkNode(machine.nodeVersion),
    ...(settings?.clickhouseUrl === undefined ? [checkLibc(machine), checkLibrary(machine, settings)] : []),
    ...checkMemory(settings),
    ...checkOpenFiles(readLimits()),
  ]
}

export function checkNode(nodeVersion: string): Finding {
  const [major = 0, minor = 0] = nodeVersion.replace(/^v/, '').split('.').map(Number)
  const [wantedMajor, wantedMinor] = oldestNode
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return ok('node', nodeVersion)
  return problem('node', `${nodeVersion} is too old.`, `Install Node ${oldestNode.join('.')} or newer.`)
}

const useServer = 'Use a ClickHouse server with WELLHEAD_CLICKHOUSE_URL.'

export function checkLibc({ platform, glibcVersion }: MachineFacts): Finding {
  if (platform !== 'linux') return ok('libc', `not needed on ${platform}`)
  const found = glibcVersion()
  if (found) return ok('libc', `glibc ${found}`)
  return problem('libc', 'There is no glibc, which the embedded engine needs.', useServer)
}

const libraries: Partial<Record<string, string>> = {
  'linux-x64': '@chdb/lib-linux-x64-gnu',
  'linux-arm64': '@chdb/lib-linux-arm64-gnu',
  'darwin-x64': '@chdb/lib-darwin-x64',
  'darwin-arm64': '@chdb/lib-darwin-arm64',
}

function checkLibrary({ platform, arch }: MachineFacts, settings: Settings | undefined): Finding {
  const name = 'library'
  if (settings?.engineNode !== undefined) {
    if (existsSync(settings.engineNode)) return ok(name, `that of ${settings.engineNode}`)
    return problem(
      name,
      `${settings.engineNode} is not there.`,
      'Set WELLHEAD_ENGINE_NODE right, or unset it.',
    )
  }
  const wanted = libraries[`${platform}-${arch}`]
  if (wanted === undefined) return problem(name, `There is no engine for ${platform} on ${arch}.`, useServer)
  try {
    createRequire(import.meta.url).resolve(wanted)
    return ok(name, wanted)
  } catch {
    return problem(
      name,
      `${wanted} is not installed.`,
      `Install again with optional packages. Or: ${useServer}`,
    )
  }
}

function checkMemory(settings: Settings | undefined): Finding[] {
  const total = totalmem()
  const text = `${formatBytes(total)}, ${formatBytes(freemem())} of it free`
  const wanted = (settings?.engineMemory ?? 0) + (settings?.cacheMemory ?? 0)
  if (wanted > total) {
    return [
      problem(
        'memory',
        `${text}; engine and cache may take ${formatBytes(wanted)}.`,
        'Lower WELLHEAD_ENGINE_MEMORY or WELLHEAD_CACHE_MEMORY.',
      ),
    ]
  }
  if (total < littleMemory) return [warning('memory', text, 'Large queries will fail; one GiB is little.')]
  return [ok('memory', text)]
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}

/** None where the system does not tell. */
export function checkOpenFiles(limits: string): Finding[] {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1]
  if (soft === undefined) return []
  if (soft === 'unlimited' || Number(soft) >= fewFiles) {
    return [ok('open files', soft === 'unlimited' ? soft : formatCount(Number(soft)))]
  }
  return [
    warning(
      'open files',
      `Only ${formatCount(Number(soft))} files may be open at once.`,
      `Raise the limit to ${formatCount(fewFiles)} or more: ulimit -n, or LimitNOFILE of a systemd unit.`,
    ),
  ]
}
