import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { writeWhole } from '../base/files/write-whole.ts'

const shape = z.object({
  url: z.string(),
  pid: z.int().positive(),
  version: z.string(),
  started_at: z.string(),
})

type ServiceFile = z.output<typeof shape>

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
    return shape.parse(JSON.parse(readFileSync(serviceFilePath(dataDir), 'utf8')))
  } catch {
    return undefined
  }
}

/** Removes the file only if it belongs to this process: another service may use the directory now. */
export function removeServiceFile(dataDir: string, pid: number): void {
  if (readServiceFile(dataDir)?.pid === pid) rmSync(serviceFilePath(dataDir), { force: true })
}
