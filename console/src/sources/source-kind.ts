import type { Source } from '../api/shapes.ts'
import type { Kind } from '../definitions/definition.ts'

type SourceDraft = Pick<
  Source,
  | 'description'
  | 'aliases'
  | 'retention_days'
  | 'search_index'
  | 'columns'
  | 'project'
  | 'list_columns'
  | 'rules'
  | 'published'
>

export const sourceKind: Kind<Source, SourceDraft> = {
  path: 'sources',
  one: 'source',
  draftOf: ({
    description,
    aliases,
    retention_days,
    search_index,
    columns,
    project,
    list_columns,
    rules,
    published,
  }) => ({
    description,
    aliases,
    retention_days,
    search_index,
    columns,
    project,
    list_columns,
    rules,
    published,
  }),
}
