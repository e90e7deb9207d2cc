import {
  definitionShape,
  type EndpointDefinition,
  isReserved,
} from '../../endpoints/definition/definition.ts'
import {
  fieldPosition,
  formatDefinition,
  readDefinition,
} from '../../endpoints/definition/definition-file.ts'
import { endpointFields } from '../../endpoints/manage/endpoint-kind.ts'
import { within } from '../../sql/errors.ts'
import { possibleSources } from '../../sql/tokens.ts'
import { withId } from '../authoring/missing-id.ts'
import type { FileKind } from './file-kind.ts'

/** SQL with a header in YAML. */
export const endpointFiles: FileKind = {
  folder: 'endpoints',
  extension: /\.sql$/,
  suffix: '.sql',
  label: '',
  prunes: true,
  isReserved,
  read(file, _name, content) {
    const reading = readDefinition(file, content)
    if ('problems' in reading) return reading
    const { definition, queryAt } = reading
    return {
      fields: { ...definition },
      positionOf({ code, message, parameter = '', line, column }) {
        const [, unused] = code === 'unused_parameter' ? (/\bparameter (\w+)/i.exec(message) ?? []) : []
        const path = unused === undefined ? parameter.split('.') : ['parameters', unused]
        const isInQuery = unused === undefined && line !== undefined
        const field = isInQuery ? undefined : fieldPosition(content, path)
        return field ?? within(queryAt, { line: line ?? 1, column: column ?? 1 })
      },
    }
  },
  write: (fields) => formatDefinition(fields as unknown as EndpointDefinition),
  fieldsOf: (view) => ({ ...definitionShape.parse(endpointFields(view)) }),
  refersTo: ({ query }) => [...possibleSources(String(query))].map((source) => `sources/${source}`),
  withId,
}
