import { stringify } from 'yaml'
import { type NewSource, newSourceShape } from '../catalog/source.ts'

/** The file of a source in a project: what is as it would be anyway is left out. */
export function sourceFileOf(source: NewSource): { file: string; content: string } {
  const usual = newSourceShape.parse({ name: source.name })
  const said = (['description', 'aliases', 'retention_days', 'hot_fields'] as const).filter(
    (field) => JSON.stringify(source[field]) !== JSON.stringify(usual[field]),
  )
  const fields = Object.fromEntries(said.map((field) => [field, source[field]]))
  return { file: `sources/${source.name}.yaml`, content: said.length === 0 ? '' : stringify(fields) }
}
