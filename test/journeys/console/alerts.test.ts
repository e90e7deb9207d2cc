import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeToken } from '../../support/callers.ts'
import { openReceiver, type Receiver } from '../../support/network/receiver.ts'
import { projects } from './stage/data.ts'
import { expectFit, onOneLoad, onPage, openStage, ownRun, show } from './stage/stage.ts'

const [shop] = projects
const stage = openStage()
const visit = onPage(stage)
const { admin, asAdmin } = stage

let receiver: Receiver
beforeAll(async () => {
  receiver = await openReceiver()
})
afterAll(() => receiver?.close())

describe('an admin', () => {
  const walk = onOneLoad(visit, admin)

  test('an alert is created from a result, fires, and is tested, muted and deleted', () =>
    walk(`/console/endpoints/usage.api-counts?project=${shop}&interval=minutely`, async (page) => {
      await ownRun(page)
      await page.getByRole('link', { name: 'Alert on this' }).click()
      const form = page.getByRole('dialog', { name: 'New alert' })
      expect(await form.getByLabel('When').inputValue()).toBe('any(total_rest_requests) > 0')
      expect(await form.getByLabel('project').inputValue()).toBe(shop)
      await form.getByLabel('Name').fill('busy')
      await form.getByLabel('Every, in seconds').fill('5')
      await form.getByRole('button', { name: 'Add a target' }).click()
      await form.getByLabel('Type').selectOption('Email')
      await form.getByLabel('To').fill('ops@example.com')
      await form.getByRole('button', { name: 'Create alert' }).click()
      await form.getByText('WELLHEAD_SMTP_URL').waitFor()
      await form.getByLabel('Type').selectOption('Webhook')
      await form.getByLabel('URL').fill(`${receiver.url}/busy`)
      await form.getByRole('button', { name: 'Preview' }).click()
      // A busy engine leaves out points of long ago.
      const past =
        /^Now firing, value \d+\. The condition was met at [1-9]\d* of [1-9]\d* times in the last day\.$/
      await form.getByText(past).waitFor()
      await expectFit(page, 'dialog')
      await form.getByRole('button', { name: 'Create alert' }).click()
      const secrets = page.getByRole('dialog', { name: 'Secrets of busy' })
      expect(await secrets.locator('.secret').textContent()).toMatch(/^whsec_/)
      await secrets.getByRole('button', { name: 'Done' }).click()
      await receiver.until('/busy', 1)
      await page.getByRole('link', { name: /^Alerts ?1$/ }).waitFor()
      await page.getByRole('cell', { name: 'firing' }).waitFor()
      await page.getByRole('link', { name: 'busy' }).click()
      await page.getByRole('cell', { name: `alert.firing to Webhook ${receiver.url}/busy 204` }).waitFor()
      const result = page.getByRole('region', { name: 'Result' })
      await result.getByRole('slider', { name: 'Values of the last day' }).waitFor()
      await result.getByRole('columnheader', { name: 'total_rest_requests' }).waitFor()
      for (const [width, theme] of [
        [1280, 'light'],
        [390, 'dark'],
      ] as const) {
        await show(page, width, theme)
        await expectFit(page)
      }
      await page.getByRole('button', { name: 'Send a test' }).click()
      await page.getByText(`Webhook ${receiver.url}/busy: 204`).waitFor()
      expect(receiver.at('/busy').map(({ body }) => body.type)).toEqual(['alert.firing', 'alert.test'])
      await page.getByRole('button', { name: 'Mute for an hour' }).click()
      await page.getByRole('button', { name: 'Unmute' }).waitFor()
      expect((await asAdmin('GET', '/api/alerts/busy')).body).toMatchObject({
        muted_until: expect.any(String),
      })
      await page.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('button', { name: 'Delete alert' }).click()
      await page.getByText('No alerts yet').waitFor()
      await receiver.until('/busy', 3)
    }))

  test('an alert that somebody else changes keeps both changes, and a version is restored', async () => {
    const parameters = { project: shop, interval: 'minutely' }
    const alert = { name: 'shared', endpoint: 'usage.api-counts', parameters, when: 'rows > 100000' }
    const { id } = (await asAdmin('POST', '/api/alerts', alert)).body
    const stored = async () => (await asAdmin('GET', `/api/alerts/${id}`)).body
    await walk('/console/alerts?q=usage+ok', async (page) => {
      await page.getByRole('link', { name: 'shared' }).click()
      await page.getByRole('button', { name: 'Edit' }).click()
      const form = page.getByRole('dialog', { name: 'Edit shared' })
      await form.getByLabel('Holds for, in seconds').fill('30')
      await asAdmin('PATCH', `/api/alerts/${id}`, { every_seconds: 120 })
      const conflict = form.getByRole('region', { name: 'Newer version' })
      await conflict.getByText('Version 2 was saved while you edited version 1.', { exact: false }).waitFor()
      await conflict.getByRole('row', { name: 'for_seconds 0 30' }).waitFor()
      expect(await conflict.getByRole('row').count()).toBe(2)
      expect(await form.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
      await expectFit(page, 'dialog')
      await form.getByRole('button', { name: 'Apply my changes to version 2' }).click()
      await form.getByRole('button', { name: 'Save' }).click()
      await form.waitFor({ state: 'detached' })
      expect(await stored()).toMatchObject({ version: 3, every_seconds: 120, for_seconds: 30 })
      await page.getByRole('button', { name: 'Versions' }).click()
      await page.getByRole('button', { name: /^Version 2/ }).click()
      await page.getByRole('row', { name: 'every_seconds 60 120' }).waitFor()
      for (const [width, theme] of [
        [1280, 'dark'],
        [390, 'light'],
      ] as const) {
        await show(page, width, theme)
        await expectFit(page)
      }
      await page.getByRole('button', { name: /^Version 1/ }).click()
      await page.getByRole('button', { name: 'Restore version 1' }).click()
      await page.getByRole('button', { name: /^Version 4/ }).waitFor()
      expect(await stored()).toMatchObject({ version: 4, every_seconds: 60, for_seconds: 0 })
    })
    await asAdmin('DELETE', `/api/alerts/${id}`)
  })

  test('an alert by group lists its groups, and mutes one of them', async () => {
    const query = "SELECT concat('svc-', toString(number)) AS service, number AS level FROM numbers(3)"
    await asAdmin('POST', '/api/endpoints', { name: 'visit.services', query })
    const alert = { name: 'grouped', endpoint: 'visit.services', when: 'any(level) >= 2', by: ['service'] }
    await asAdmin('POST', '/api/alerts', alert)
    await walk('/console/alerts/grouped', async (page) => {
      await page.getByRole('heading', { name: 'Groups by service' }).waitFor()
      await page.getByRole('row', { name: /^svc-2 firing 2 .* Mute for an hour$/ }).waitFor()
      await page.getByRole('cell', { name: 'firing svc-2 was ok' }).waitFor()
      const group = page.getByRole('row', { name: /^svc-1 ok 1 / })
      await group.getByRole('button', { name: 'Mute for an hour' }).click()
      await group.getByRole('button', { name: 'Unmute' }).waitFor()
      const { body } = await asAdmin('GET', '/api/alerts/grouped/groups')
      expect(body.map((each: { muted_until: string | null }) => each.muted_until !== null)).toEqual([
        false,
        true,
        false,
      ])
      for (const [width, theme] of [
        [1280, 'light'],
        [390, 'dark'],
      ] as const) {
        await show(page, width, theme)
        await expectFit(page)
      }
      await page.getByRole('button', { name: 'Edit' }).click()
      const form = page.getByRole('dialog', { name: 'Edit grouped' })
      await form.getByLabel('Keep a group without rows for').fill('1h')
      await form.getByRole('button', { name: 'Save' }).click()
      await form.waitFor({ state: 'detached' })
      expect((await asAdmin('GET', '/api/alerts/grouped')).body).toMatchObject({
        keep_missing: '1h',
        muted_groups: { [body[1].id]: expect.any(String) },
      })
    })
    await asAdmin('DELETE', '/api/alerts/grouped')
    await asAdmin('DELETE', '/api/endpoints/visit.services')
  })
})

test('a tenant has no page of alerts', async () => {
  const { token } = await makeToken(stage.service(), { scopes: ['query'], project: shop })
  await visit('/console/alerts', { token }, async (page) => {
    await page.waitForURL(/\/console\/(?!alerts)/)
    expect(await page.getByRole('link', { name: 'Alerts' }).count()).toBe(0)
  })
})
