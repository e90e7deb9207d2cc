import { type Document, isMap, isSeq } from 'yaml'
import { alertShape } from '../../alerts/alert.ts'
import { isBuiltIn } from '../../catalog/built-in-sources.ts'
import { newSourceShape } from '../../catalog/source.ts'
import { dashboardShape, panelsOf } from '../../dashboards/dashboard.ts'
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
import { yamlKind } from './yaml-kind.ts'

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

export const sourceFiles = yamlKind({
  folder: 'sources',
  shape: newSourceShape,
  example: 'description: Orders of the shop.',
  // Deleting a source deletes its entries.
  prunes: false,
  isReserved: isBuiltIn,
  refersTo: () => [],
  format: writeColumnsInLines,
})

/** Each column in one line. */
function writeColumnsInLines(document: Document): void {
  const columns = document.get('columns')
  for (const column of isSeq(columns) ? columns.items : []) {
    if (!isMap(column)) continue
    column.flow = true
    if (column.get('searched') === false) column.delete('searched')
  }
}

export const alertFiles = yamlKind({
  folder: 'alerts',
  shape: alertShape,
  omitted: ['muted_until'],
  example: 'endpoint: usage.api-counts',
  prunes: true,
  isReserved: () => false,
  refersTo: ({ endpoint }) => [`endpoints/${endpoint}`],
  // The names of targets would be resolved.
  offline: (fields) => ({ ...fields, notify: [] }),
})

export const dashboardFiles = yamlKind({
  folder: 'dashboards',
  shape: dashboardShape,
  example: 'title: Traffic',
  prunes: true,
  isReserved: () => false,
  refersTo: (fields) => panelsOf(fields as never).map(({ panel }) => `endpoints/${panel.endpoint}`),
  format: writeInLines,
})

const defaults = { type: 'string', required: false, empty_is_omitted: false, description: '' }

/** Each parameter and each item in one line, without defaults. */
function writeInLines(document: Document): void {
  const parameters = document.get('parameters')
  for (const { value } of isMap(parameters) ? parameters.items : []) {
    if (!isMap(value)) continue
    value.flow = true
    for (const [field, preset] of Object.entries(defaults))
      if (value.get(field) === preset) value.delete(field)
  }
  const rows = document.get('rows')
  for (const row of isSeq(rows) ? rows.items : []) {
    const items = isMap(row) ? row.get('items') : undefined
    for (const item of isSeq(items) ? items.items : []) {
      // Text has line breaks.
      if (isMap(item) && !item.has('markdown')) item.flow = true
    }
  }
}

/** In the order of references: a kind refers to those before it. */
export const fileKinds: readonly FileKind[] = [sourceFiles, endpointFiles, alertFiles, dashboardFiles]
