import { readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { dataFiles } from '../../core/base/files/data-files.ts'
import { writeWhole } from '../../core/base/files/disk.ts'
import { trimEndOf } from '../../core/base/text/trim-end.ts'
import { type CommandIo, usageFailure } from './command-io.ts'

export interface ServiceChoice {
  url?: string
  token?: string
  dataDir?: string
}

/** Data directory of a service with sample data: sample entries do not mix with others, and commands find the demo while nothing else runs. */
export const sampleDataDir = './demo-data'
const defaultUrl = 'http://127.0.0.1:4000'

/** Flags take precedence over the environment, and the environment over the data directory of a local service. */
export function findService(choice: ServiceChoice, io: CommandIo) {
  const { environment } = io
  const chosen = choice.dataDir ?? (environment.WELLHEAD_DATA_DIR || undefined)
  const directories = (chosen === undefined ? ['data', sampleDataDir] : [chosen]).map((one) =>
    resolve(io.cwd, one),
  )
  const isRunning = (directory: string) => {
    const file = readServiceFile(directory)
    return file !== undefined && io.isAlive(file.pid)
  }
  const dataDir = directories.find(isRunning) ?? (directories[0] as string)
  const chosenUrl = choice.url ?? (environment.WELLHEAD_URL || undefined)
  const localUrl = findLocalUrl(dataDir, io)
  const url = chosenUrl === undefined ? (localUrl ?? defaultUrl) : normalizedUrl(chosenUrl)
  const token =
    choice.token ??
    (environment.WELLHEAD_TOKEN || undefined) ??
    // Only the local service may receive its admin token: any program could listen on another port.
    (url === localUrl ? readLocalToken(dataDir, io) : undefined)
  if (token === undefined) {
    const hint = ` No service is running on ${dataDir}; start one with "wellhead serve", or set --data-dir.`
    throw usageFailure(
      `No token for ${url}. Set --token or WELLHEAD_TOKEN.${localUrl === undefined ? hint : ''}`,
    )
  }
  // Checked here because an invalid header value would fail with an obscure message.
  if (!/^[\x21-\x7e]+$/.test(token)) throw usageFailure('The token contains invalid characters.')
  return { url, token, isLocal: chosenUrl === undefined }
}

function findLocalUrl(dataDir: string, io: CommandIo): string | undefined {
  const file = readServiceFile(dataDir)
  if (file === undefined || io.isAlive(file.pid)) return file?.url
  void io.stderr.write(
    `wellhead: ${serviceFilePath(dataDir)} belongs to a service that has stopped (process ${file.pid}).\n`,
  )
  return undefined
}

function readLocalToken(dataDir: string, { environment }: CommandIo): string | undefined {
  if (environment.WELLHEAD_ADMIN_TOKEN) return environment.WELLHEAD_ADMIN_TOKEN
  try {
    return readFileSync(join(dataDir, dataFiles.adminToken), 'utf8').trim() || undefined
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw usageFailure(`Cannot read the admin token of the local service: ${message}.`)
  }
}

function normalizedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw usageFailure(`"${text}" is not a service URL. Use a URL such as ${defaultUrl}.`)
  }
  return `${url.origin}${trimEndOf(url.pathname, '/')}`
}

interface ServiceFile {
  url: string
  pid: number
  version: string
  started_at: string
}

export function serviceFilePath(dataDir: string): string {
  return join(dataDir, 'service.json')
}

/** Written atomically, because commands read it at any time. */
export function writeServiceFile(dataDir: string, content: ServiceFile): void {
  writeWhole(serviceFilePath(dataDir), `${JSON.stringify(content)}\n`, 0o600)
}

/** Undefined if the file is missing or unreadable. */
export function readServiceFile(dataDir: string): ServiceFile | undefined {
  try {
    const file = JSON.parse(readFileSync(serviceFilePath(dataDir), 'utf8')) as ServiceFile
    return typeof file.url === 'string' && Number.isInteger(file.pid) && file.pid > 0 ? file : undefined
  } catch {
    return undefined
  }
}

/** Removes the file only if it belongs to this process: another service may use the directory now. */
export function removeServiceFile(dataDir: string, pid: number): void {
  if (readServiceFile(dataDir)?.pid === pid) rmSync(serviceFilePath(dataDir), { force: true })
}
