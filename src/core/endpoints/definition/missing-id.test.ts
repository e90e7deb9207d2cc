import { expect, test } from 'vitest'
import { readDefinition } from './definition-file.ts'
import { withId } from './missing-id.ts'

const id = '11111111-2222-4333-8444-555555555555'

test.each([
  ['a header in lines', '/*\nmax_rows: 5\n*/\nSELECT 1', `/*\nid: ${id}\nmax_rows: 5\n*/\nSELECT 1`],
  [
    'comments before the header and in it',
    '  /*  \n# About.\nmax_rows: 5 # few\n*/\n-- x\nSELECT 1;\n',
    `  /*  \nid: ${id}\n# About.\nmax_rows: 5 # few\n*/\n-- x\nSELECT 1;\n`,
  ],
  ['CRLF', '/*\r\nmax_rows: 5\r\n*/\r\nSELECT 1\r\n', `/*\r\nid: ${id}\r\nmax_rows: 5\r\n*/\r\nSELECT 1\r\n`],
  [
    'a byte order mark',
    '\ufeff/*\nmax_rows: 5\n*/\nSELECT 1',
    `\ufeff/*\nid: ${id}\nmax_rows: 5\n*/\nSELECT 1`,
  ],
  [
    'indented fields',
    '/*\n\n   max_rows: 5\n   cache: 1m\n*/ SELECT 1',
    `/*\n   id: ${id}\n\n   max_rows: 5\n   cache: 1m\n*/ SELECT 1`,
  ],
  ['one line', '/* max_rows: 5 */ SELECT 1', `/* id: ${id}\n max_rows: 5 */ SELECT 1`],
  [
    'fields that start beside the comment mark',
    '/* max_rows: 5\n cache: 1m */ SELECT 1',
    `/* id: ${id}\n max_rows: 5\n cache: 1m */ SELECT 1`,
  ],
  ['an empty header', '/*\n*/\nSELECT 1', `/*\nid: ${id}\n*/\nSELECT 1`],
  ['a header of spaces', '/* */ SELECT 1', `/*id: ${id}\n */ SELECT 1`],
  ['no header', '-- Mine.\nSELECT 1\n', `/*\nid: ${id}\n*/\n-- Mine.\nSELECT 1\n`],
  ['no header and a byte order mark', '\ufeffSELECT 1\r\n', `\ufeff/*\r\nid: ${id}\r\n*/\r\nSELECT 1\r\n`],
])('writes an id into a file with %s and changes nothing else', (_, content, expected) => {
  expect(withId(content, id)).toBe(expected)
  const reading = readDefinition('sample.sql', expected)
  expect('definition' in reading && reading.definition.id).toBe(id)
})

test.each([
  ['it has an id', `/*\nid: ${id}\n*/\nSELECT 1`],
  ['its id is invalid', '/*\nid: mine\n*/\nSELECT 1'],
  ['its id has no value', '/*\nid:\n*/\nSELECT 1'],
  ['its header is a sentence', '/* Counts requests. */ SELECT 1'],
  ['its header is not YAML', '/*\nmax_rows: [\n*/\nSELECT 1'],
  ['its header is in braces', '/* { max_rows: 5 } */ SELECT 1'],
  ['its header has a document mark', '/*\n---\nmax_rows: 5\n*/\nSELECT 1'],
  ['its header is not closed', '/*\nmax_rows: 5\nSELECT 1'],
])('leaves a file alone if %s', (_, content) => {
  expect(withId(content, 'aaaaaaaa-2222-4333-8444-555555555555')).toBeUndefined()
})
