import type { Source } from '../api/shapes.ts'
import type { Kind } from '../definitions/definition.ts'

type SourceDraft = Pick<Source, 'description' | 'aliases' | 'retention_days' | 'columns'>

export const sourceKind: Kind<Source, SourceDraft> = {
  path: 'sources',
  one: 'source',
  draftOf: ({ description, aliases, retention_days, columns }) => ({
    description,
    aliases,
    retention_days,
    columns,
  }),
}
