import { isDeepStrictEqual } from 'node:util'
import { isMap, isNode } from 'yaml'
import { readYamlFields } from '../../base/files/yaml-fields.ts'
import { splitFile } from '../../endpoints/definition/definition-file.ts'

/** The text of an endpoint's file with an id. Undefined if it has one, or if its header is not readable. */
export function withId(content: string, id: string): string | undefined {
  const before = readParts(content)
  if (before === undefined || Object.hasOwn(before.fields, 'id')) return undefined
  return insertions(content, id).find((changed) => {
    const after = readParts(changed)
    return after?.query === before.query && isDeepStrictEqual(after.fields, { ...before.fields, id })
  })
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

/** Every way to write the id. Which one is right depends on how the header is written. */
function insertions(content: string, id: string): string[] {
  const lineBreak = /\r?\n/.exec(content)?.[0] ?? '\n'
  const field = `id: ${id}`
  const insert = (at: number, text: string) => content.slice(0, at) + text + content.slice(at)
  const parts = splitFile(content)
  if (parts === undefined) {
    const start = content.startsWith('\ufeff') ? 1 : 0
    return [insert(start, ['/*', field, '*/', ''].join(lineBreak))]
  }
  const { header, headerStart } = parts
  const [opening = ''] = /^[ \t]*\r?\n/.exec(header) ?? []
  const { contents } = readYamlFields(header, '').document
  if (!isMap(contents)) {
    if (opening === '') return [insert(headerStart, `${lineBreak}${field}${lineBreak}`)]
    return [insert(headerStart + opening.length, `${field}${lineBreak}`)]
  }
  const key = contents.items[0]?.key
  const keyStart = (isNode(key) && key.range?.[0]) || 0
  if (contents.flow) {
    const afterBrace = headerStart + (contents.range?.[0] ?? 0) + 1
    return [key ? insert(headerStart + keyStart, `${field}, `) : insert(afterBrace, field)]
  }
  const indent = ' '.repeat(keyStart - header.slice(0, keyStart).lastIndexOf('\n') - 1)
  return [
    // Before a comment on the first field.
    ...(opening === '' ? [] : [insert(headerStart + opening.length, `${indent}${field}${lineBreak}`)]),
    insert(headerStart + keyStart, `${field}${lineBreak}${indent}`),
  ]
}
