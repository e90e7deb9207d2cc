import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { writeWhole } from '../base/write-whole.ts'

const shape = z.object({
  url: z.string(),
  pid: z.int().positive(),
  version: z.string(),
  started_at: z.string(),
})

/** Where a running service listens, written down for commands on the same machine. */
export type ServiceFile = z.output<typeof shape>

export function serviceFilePath(dataDir: string): string {
  return join(dataDir, 'service.json')
}

/** Whole or not at all: a command may read it at any moment. */
export function writeServiceFile(dataDir: string, content: ServiceFile): void {
  writeWhole(serviceFilePath(dataDir), `${JSON.stringify(content)}\n`, 0o600)
}

/** Undefined where there is none, or none that can be read. */
export function readServiceFile(dataDir: string): ServiceFile | undefined {
  try {
    return shape.parse(JSON.parse(readFileSync(serviceFilePath(dataDir), 'utf8')))
  } catch {
    return undefined
  }
}

/** Only one's own: another service may have come to this directory since. */
export function removeServiceFile(dataDir: string, pid: number): void {
  if (readServiceFile(dataDir)?.pid === pid) rmSync(serviceFilePath(dataDir), { force: true })
}
