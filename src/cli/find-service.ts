import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { usageFailure } from './command-failure.ts'
import type { CommandIo } from './command-io.ts'
import { readServiceFile, serviceFilePath } from './service-file.ts'

/** Flags of every command that talks to a service. */
export interface ServiceChoice {
  url?: string
  token?: string
  dataDir?: string
}

export interface FoundService {
  url: string
  token: string
}

export const defaultUrl = 'http://127.0.0.1:4000'

/** Flags over environment over what the data directory of a local service tells. */
export function findService(choice: ServiceChoice, io: CommandIo): FoundService {
  const { environment } = io
  const dataDir = resolve(io.cwd, choice.dataDir ?? (environment.WELLHEAD_DATA_DIR || 'data'))
  const named = choice.url ?? (environment.WELLHEAD_URL || undefined)
  const local = localUrl(dataDir, io)
  const url = named === undefined ? (local ?? defaultUrl) : checkedUrl(named)
  const token =
    choice.token ??
    (environment.WELLHEAD_TOKEN || undefined) ??
    // The admin token of a local service goes to no other: whoever holds a port may be anybody.
    (url === local ? localToken(dataDir, io) : undefined)
  if (token === undefined) {
    throw usageFailure(
      `There is no token for ${url}: give one with --token or WELLHEAD_TOKEN` +
        (local === undefined
          ? `. No service runs on ${dataDir}; start one with wellhead serve, or name its directory with --data-dir.`
          : '.'),
    )
  }
  return { url, token: checkedToken(token) }
}

function localUrl(dataDir: string, io: CommandIo): string | undefined {
  const file = readServiceFile(dataDir)
  if (file === undefined || io.isAlive(file.pid)) return file?.url
  void io.stderr.write(
    `wellhead: ${serviceFilePath(dataDir)} is of a service that has ended (process ${file.pid}).\n`,
  )
  return undefined
}

function localToken(dataDir: string, { environment }: CommandIo): string | undefined {
  if (environment.WELLHEAD_ADMIN_TOKEN) return environment.WELLHEAD_ADMIN_TOKEN
  try {
    return readFileSync(join(dataDir, 'admin-token'), 'utf8').trim() || undefined
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw usageFailure(`The admin token of the local service cannot be read: ${message}.`)
  }
}

function checkedUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw usageFailure(`"${given}" is no address of a service. It looks like ${defaultUrl}.`)
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** Said here, since what cannot be a header would fail with words that help nobody. */
function checkedToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw usageFailure('The token has characters that no token has.')
}
