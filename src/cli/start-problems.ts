import { StartProblem } from '../base/data-directory.ts'
import type { Settings } from '../base/settings.ts'
import { EngineStartError } from '../engine/host/protocol.ts'

/** One line that says what is wrong and what to do; undefined for what nobody foresaw. */
export function explainStartProblem(error: unknown, settings: Settings): string | undefined {
  if (error instanceof StartProblem) return error.message
  if (error instanceof EngineStartError) return explainEngine(error, settings)
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === 'EACCES' && syscall !== 'listen') return undefined
  const where = `${settings.host}:${settings.port}`
  switch (code) {
    case 'EADDRINUSE':
      return `${where} is already in use. Choose another port with --port, or stop what listens there.`
    case 'EACCES':
      return `${where} may not be listened on. Ports below 1024 need rights; choose another with --port.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${settings.host} is no address of this machine. Choose another with --host.`
    case 'engine_unavailable':
    case 'query_timeout':
      return 'The ClickHouse server cannot be used. Check WELLHEAD_CLICKHOUSE_URL, user and password.'
    default:
      return undefined
  }
}

function explainEngine(error: EngineStartError, settings: Settings): string {
  switch (error.reason) {
    case 'in-use':
      return `The data directory ${settings.dataDir} is in use by another process. Stop that one, or choose another with --data-dir.`
    case 'unwritable':
      return `The data directory ${settings.dataDir} cannot be written: ${error.message}. Give this user rights, or choose another with --data-dir.`
    case 'no-engine':
      return `There is no embedded engine for this machine: ${error.message.split('\n')[0]} Use a ClickHouse server with WELLHEAD_CLICKHOUSE_URL instead.`
    case 'other':
      return `The embedded engine cannot start: ${error.message}`
  }
}
