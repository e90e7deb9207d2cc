import type { Browser } from 'playwright-core'
import { describe, test } from 'vitest'
import type { RunningService } from '../../support/service.ts'
import { expectFit, onPage, show, write } from '../console/stage/stage.ts'

export function playgroundJourney(running: () => RunningService, browser: () => Browser): void {
  describe('the playground', () => {
    const sql =
      "select id, r.path, timestamp from edge_logs cross join unnest(metadata) as m cross join unnest(m.request) as r where identifier = 'default' and r.path like '/rest/%'"

    test('translates a query from Studio and runs it', () =>
      onPage({ service: running, browser })(
        '/console/playground',
        { token: running().adminToken.token },
        async (page) => {
          const bigQuery = page.getByRole('textbox', { name: 'BigQuery' })
          await page.getByRole('button', { name: 'BigQuery' }).click()
          await bigQuery.click()
          await page.keyboard.insertText('select idd from edge_logs')
          await page.getByText('Line 1, column 8: Unrecognized name "idd". Did you mean id?').waitFor()
          await page.keyboard.press('Control+A')
          await page.keyboard.insertText(sql)
          await page.getByRole('textbox', { name: 'SQL' }).getByText('edge_logs AS').waitFor()
          await page.getByText('The query is valid.').waitFor()
          await bigQuery.click()
          await page.keyboard.press('Control+Enter')
          await page.getByRole('cell', { name: 'e1', exact: true }).waitFor()
          for (const theme of ['light', 'dark'] as const) {
            await show(page, 1280, theme)
            await expectFit(page)
          }
          // The translation is SQL like any other.
          await write(page, 'SELECT 42 AS number')
          await page.keyboard.press('Control+Enter')
          await page.getByRole('cell', { name: '42', exact: true }).waitFor()
        },
      ))
  })
}
