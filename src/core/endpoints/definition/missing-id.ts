import { isDeepStrictEqual } from 'node:util'
import { readYamlFields } from '../../base/files/yaml-fields.ts'
import { splitFile } from './definition-file.ts'

/** The text of an endpoint's file with an id. Undefined if it has one, or if its header is not readable. */
export function withId(content: string, id: string): string | undefined {
  const before = readParts(content)
  if (before === undefined || Object.hasOwn(before.fields, 'id')) return undefined
  const changed = withField(content, `id: ${id}`)
  const after = readParts(changed)
  // A header that is written in another way, such as in braces, is left alone.
  const isSame = after?.query === before.query && isDeepStrictEqual(after.fields, { ...before.fields, id })
  return isSame ? changed : undefined
}

function readParts(content: string): { fields: Record<string, unknown>; query: string } | undefined {
  const parts = splitFile(content)
  if (parts === undefined) {
    // A comment that is not closed may be the header.
    return content.trimStart().startsWith('/*') ? undefined : { fields: {}, query: content.trim() }
  }
  const { document, fields, syntaxProblems } = readYamlFields(parts.header, '')
  const isEmpty = document.contents === null && document.errors.length === 0
  if (syntaxProblems.length > 0 && !isEmpty) return undefined
  return { fields, query: parts.query.trim() }
}

/** The id in a header of its own, or in the first line of the header, as far in as its fields. */
function withField(content: string, field: string): string {
  const lineBreak = /\r?\n/.exec(content)?.[0] ?? '\n'
  const parts = splitFile(content)
  const start = content.startsWith('\ufeff') ? 1 : 0
  const { header = '', headerStart = start } = parts ?? {}
  const [opening = ''] = /^[ \t]*\r?\n/.exec(header) ?? []
  const [, indent = ''] = /^( *)\w/m.exec(header) ?? []
  const line = `${indent}${field}${lineBreak}`
  const at = headerStart + opening.length
  return content.slice(0, at) + (parts ? line : ['/*', field, '*/', ''].join(lineBreak)) + content.slice(at)
}
