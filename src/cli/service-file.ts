import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../base/files/write-whole.ts'

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
