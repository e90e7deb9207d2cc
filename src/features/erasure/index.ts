import type { Feature } from '../../feature.ts'
import type { Erasure } from './erasure.ts'
import type { OpenErasure } from './open.ts'

export type { Erasure } from './erasure.ts'
export { erasureFiles } from './erasure-files.ts'

export const erasure: Feature<OpenErasure> = {
  name: 'erasure',
  commands: [
    {
      name: 'erase',
      description: 'erase entries of a project everywhere',
      after: 'types',
      load: async () => (await import('./commands.ts')).defineErase,
    },
  ],
  tables: async () => (await import('./own-tables.ts')).erasureTables,
  open: async (core) => (await import('./open.ts')).openErasure(core),
}

/** Reads the erasures of a data directory: those of its own, and those that a restore brought along. */
export async function readErasureFiles(directory: string): Promise<[listed: Erasure[], restored: Erasure[]]> {
  return (await import('./erasure-file.ts')).readErasureFiles(directory)
}

/** Reads the erasures that the text of such a file has. */
export async function erasuresIn(text: string): Promise<Erasure[]> {
  return (await import('./erasure-file.ts')).erasuresIn(text)
}
