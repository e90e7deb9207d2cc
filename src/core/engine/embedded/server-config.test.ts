import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeServerConfig } from './server-config.ts'

test('the files of the server are for its owner alone, and quote what is not XML', () => {
  const root = mkdtempSync(join(tmpdir(), 'wellhead-config-'))
  try {
    const directory = join(root, "it's <a> & b")
    const runtimeDirectory = join(root, "it's runtime")
    mkdirSync(runtimeDirectory)
    const files = writeServerConfig({
      directory,
      runtimeDirectory,
      database: 'wellhead',
      memoryBytes: 2 ** 30,
      credentials: {
        key: 'k',
        service: { user: 'wellhead', password: 'one' },
        reader: { user: 'reader', password: 'two' },
      },
      grants: ['SELECT ON *.*'],
    })
    for (const path of [files.config, files.statements, join(runtimeDirectory, 'users.xml')]) {
      expect(statSync(path).mode & 0o077, path).toBe(0)
    }
    expect(readFileSync(files.config, 'utf8')).toContain("it's &lt;a&gt; &amp; b/store/</path>")
    expect(readFileSync(files.statements, 'utf8')).toContain("INTO OUTFILE '")
    expect(readFileSync(files.statements, 'utf8')).toContain("it\\'s runtime/port'")
  } finally {
    rmSync(root, { recursive: true })
  }
})
