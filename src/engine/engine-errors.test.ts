import { describe, expect, test } from 'vitest'
import { withPlace } from './engine-errors.ts'

const cut = (sql: string, word: string) =>
  `Syntax error: failed at position ${Buffer.byteLength(sql.slice(0, sql.indexOf(word))) + 1}`

describe('withPlace', () => {
  test('gives back the word and the place that the client cut off', () => {
    const sql = "SELECT 'ä', 1 AS n\nFRM edge_logs"
    expect(withPlace(cut(sql, 'FRM'), sql)).toMatch(/\(FRM\) \(line 2, col 1\)$/)
    // Columns are counted in bytes, as the engine does.
    expect(withPlace(cut("SELECT 'ä' AS n FRM x", 'FRM'), "SELECT 'ä' AS n FRM x")).toMatch(
      /\(line 1, col 18\)$/,
    )
  })

  test('leaves whole messages as they are, and ones whose statement is not known', () => {
    const whole = 'Syntax error: failed at position 43 (x) (line 2, col 15): x. Expected FROM.'
    expect(withPlace(whole, 'SELECT 1')).toBe(whole)
    expect(withPlace('Syntax error: failed at position 3', undefined)).toBe(
      'Syntax error: failed at position 3',
    )
  })
})
