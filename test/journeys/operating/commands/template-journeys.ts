import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { newWorkspaceFiles, templates } from '../../../../src/workspace/authoring/new-workspace.ts'
import type { runCommand } from '../../../support/command.ts'

interface Workspace {
  directory: string
  run: (...args: string[]) => ReturnType<typeof runCommand>
  write: (path: string, content: string) => void
  /** Deletes an endpoint or a dashboard. */
  remove: (name: string, folder?: 'dashboards') => Promise<number>
}

/** Checks, tests and deploys the templates of `wellhead init`. */
export function templateJourneys({ directory, run, write, remove }: Workspace): void {
  describe('the files of all templates', () => {
    beforeAll(() => {
      const all = templates.map((template) => newWorkspaceFiles(template, randomUUID))
      for (const [file, content] of all.flatMap(Object.entries<string>)) write(`templates/${file}`, content)
    })

    test('have no warnings; check finds those of an unfinished endpoint, and adds its id', async () => {
      // A file without an id, with SQL that is probably wrong.
      const [draft, alert] = ['templates/endpoints/draft.sql', 'templates/alerts/severe.yaml'] as const
      write(draft, '/*\r\nmax_rows: 5\r\n*/\r\nSELECT @projct AS project\r\n')
      write(alert, 'endpoint: logs.by-severity\nparameters: { project: shop }\nwhen: rows > 5\nnotify: []\n')
      const checked = await run('check', 'templates', '--strict', '--fix', '--json')
      const result = JSON.parse(checked.stdout)
      expect([checked.code, checked.stderr, result]).toEqual([
        1,
        'wellhead: 1 warning found.\n',
        {
          definitions: 11,
          problems: [],
          warnings: [
            {
              ...{ file: 'endpoints/draft.sql', line: 5, column: 8, code: 'undeclared_parameter' },
              message: expect.stringContaining('@projct'),
            },
          ],
          fixed: [{ file: 'endpoints/draft.sql', id: expect.stringMatching(/^[\da-f-]{36}$/) }],
        },
      ])
      expect(readFileSync(join(directory, draft), 'utf8')).toBe(
        `/*\r\nid: ${result.fixed[0].id}\r\nmax_rows: 5\r\n*/\r\nSELECT @projct AS project\r\n`,
      )
      for (const file of [draft, alert]) rmSync(join(directory, file))
    })

    test('pass their tests and can be deployed', async () => {
      expect((await run('test', 'templates')).stdout).toContain('10 passed, 0 failed\n')
      const { code, stdout } = await run('deploy', 'templates', '--strict', '--json')
      expect([code, JSON.parse(stdout)]).toMatchObject([
        0,
        { sources: [{ name: 'nginx_logs', action: 'created' }] },
      ])
      for (const { name } of JSON.parse(stdout).dashboards) await remove(name, 'dashboards')
      for (const { name } of JSON.parse(stdout).endpoints) await remove(name)
      expect((await run('source', 'delete', 'nginx_logs', '--yes')).code).toBe(0)
    })
  })
}
