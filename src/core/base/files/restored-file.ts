import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Left in a restored data directory, for the audit of the service that starts with it. */
export const restoredFile = 'restored.json'

interface Restored {
  id: string
  at: string
  /** When the backup was taken. */
  taken_at: string
}

export function restoredText(takenAt: string): string {
  return JSON.stringify({
    id: randomUUID(),
    at: new Date().toISOString(),
    taken_at: takenAt,
  } satisfies Restored)
}

export async function readRestored(dataDir: string): Promise<Restored | undefined> {
  const text = await readFile(join(dataDir, restoredFile), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as Restored)
}
