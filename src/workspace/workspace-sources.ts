import { stringify } from 'yaml'
import { type NewSource, newSourceShape } from '../catalog/source.ts'

/** A difference between a source file and the service. */
export interface ChangedSource {
  name: string
  fields: Partial<Pick<NewSource, 'description' | 'aliases' | 'retention_days'>>
  message: string
  /** Whether the change deletes stored entries. */
  loses: boolean
}

const updatableFields = ['description', 'aliases', 'retention_days'] as const

export function sourceChanges(files: readonly NewSource[], service: readonly NewSource[]): ChangedSource[] {
  return files.flatMap((file) => {
    const current = service.find(({ name }) => name === file.name)
    if (!current) return []
    const changed = differingFields(updatableFields, file, current)
    if (changed.length === 0) return []
    const changes = changed.map(
      (field) => `${field} ${JSON.stringify(current[field])} → ${JSON.stringify(file[field])}`,
    )
    return {
      name: file.name,
      fields: Object.fromEntries(changed.map((field) => [field, file[field]])),
      message: `source ${file.name}: ${changes.join(', ')}`,
      loses: file.retention_days < current.retention_days,
    }
  })
}

/** The file that declares a source; fields with default values are omitted. */
export function sourceFileOf(source: NewSource): { file: string; content: string } {
  const defaults = newSourceShape.parse({ name: source.name })
  const changed = differingFields([...updatableFields, 'columns'] as const, source, defaults)
  const fields = Object.fromEntries(changed.map((field) => [field, source[field]]))
  return { file: `sources/${source.name}.yaml`, content: changed.length === 0 ? '' : stringify(fields) }
}

function differingFields<K extends keyof NewSource>(fields: readonly K[], one: NewSource, other: NewSource) {
  return fields.filter((field) => JSON.stringify(one[field]) !== JSON.stringify(other[field]))
}
