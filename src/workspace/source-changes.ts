import type { NewSource } from '../catalog/source.ts'

/** What a file says of a source otherwise than the service. */
export interface ChangedSource {
  name: string
  fields: Partial<Pick<NewSource, 'description' | 'aliases' | 'retention_days'>>
  message: string
  /** Entries would be gone that are there now. */
  loses: boolean
}

const changeable = ['description', 'aliases', 'retention_days'] as const

/** Of the sources that both have; those that only the files have are made. */
export function sourceChanges(files: readonly NewSource[], service: readonly NewSource[]): ChangedSource[] {
  return files.flatMap((file) => {
    const there = service.find(({ name }) => name === file.name)
    const different = changeable.filter(
      (field) => there && JSON.stringify(file[field]) !== JSON.stringify(there[field]),
    )
    if (!there || different.length === 0) return []
    const told = different.map(
      (field) => `${field} ${JSON.stringify(there[field])} → ${JSON.stringify(file[field])}`,
    )
    return {
      name: file.name,
      fields: Object.fromEntries(different.map((field) => [field, file[field]])),
      message: `the source ${file.name}: ${told.join(', ')}`,
      loses: file.retention_days < there.retention_days,
    }
  })
}
