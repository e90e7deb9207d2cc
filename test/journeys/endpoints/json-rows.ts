import { describe, expect, test } from 'vitest'
import { bindQuery } from '../../../src/core/endpoints/definition/parameters.ts'
import { outputSettings, wrapQuery } from '../../../src/core/endpoints/definition/result-columns.ts'
import type { Engine } from '../../../src/core/engine/engine.ts'
import { templateRows, textRows } from '../../../src/core/engine/json-rows.ts'
import { sqlName } from '../../../src/core/sql/names.ts'

const limits = { deadlineMs: 60_000 }

/** Rows that the engine writes as JSON. */
export function describeJsonRows(engine: () => Engine): void {
  describe('rows as JSON', () => {
    test.each(['text-rows', 'template'] as const)(
      '%s has text as JSON only if it is valid JSON',
      async (form) => {
        const texts = ['{"a":1.0}', '\ufeff{"a":1}', '[1,\n2]', 'plain', '{"a":', '', '"x"', 'null']
        const values = texts.map((text) => `'${text.replaceAll('\n', '\\n')}'`).join(', ')
        const query = bindQuery(
          `SELECT arrayJoin([${values}, NULL]) AS ${sqlName('a`$:"/ü')}, 'x' AS after`,
          {},
        )
        const columns = [
          { name: 'a`$:"/ü', type: 'Nullable(String)' },
          { name: 'after', type: 'String' },
        ]
        const names = columns.map(({ name }) => ({ name, isJson: name !== 'after' }))
        const sql = wrapQuery(query, columns, { rows: 100, form, json: ['a`$:"/ü'] })
        const { format, settings } =
          form === 'template'
            ? { format: 'Template', settings: { ...outputSettings, ...templateRows(names, true) } }
            : { format: textRows.format, settings: { ...outputSettings, ...textRows.array } }
        const { body } = await engine().query({ sql, format, settings }, limits)
        const rows = [{ a: 1 }, '\ufeff{"a":1}', [1, 2], 'plain', '{"a":', '', 'x', null, null]
        expect(JSON.parse(body.toString())).toEqual(rows.map((row) => ({ 'a`$:"/ü': row, after: 'x' })))
        expect(body.toString()).toContain('[\n{"a`$:\\"/ü":{"a":1.0},"after":"x"},\n')
      },
    )

    test('stored metadata needs no check, and empty metadata is empty text', async () => {
      const create = 'CREATE TABLE kept (id String, metadata String) ENGINE = MergeTree ORDER BY id'
      await engine().command({ sql: create }, limits)
      const rows =
        '{"id":"a","metadata":"{\\"x\\":\\"\\\\n\\\\\\"\\",\\"n\\":1.10}"}\n{"id":"b","metadata":""}'
      await engine().insert({ table: 'kept', format: 'JSONEachRow' }, Buffer.from(rows), limits)
      const query = bindQuery('SELECT id, metadata FROM kept ORDER BY id', {})
      const columns = ['id', 'metadata'].map((name) => ({ name, type: 'String' }))
      const sql = wrapQuery(query, columns, { rows: 100, form: 'template' })
      expect(sql).not.toContain('isValidJSON')
      const members = columns.map(({ name }) => ({ name, isJson: name === 'metadata' }))
      const settings = { ...outputSettings, ...templateRows(members, false) }
      const { body, readRows } = await engine().query({ sql, format: 'Template', settings }, limits)
      expect(body.toString()).toBe(
        '{"id":"a","metadata":{"x":"\\n\\"","n":1.10}}\n{"id":"b","metadata":""}\n',
      )
      expect(readRows).toBe(2)
    })
  })
}
