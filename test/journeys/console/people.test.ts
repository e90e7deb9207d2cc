import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import { freePort } from '../../support/network/free-port.ts'
import { clientId, clientSecret, type Issuer, openIssuer } from '../../support/network/issuer.ts'
import { openService, type RunningService } from '../../support/service.ts'
import {
  collectComplaints,
  faultsInThemes,
  faultsOf,
  follow,
  newContext,
  openConsole,
  sharedBrowser,
} from './stage/browser.ts'

const browser = sharedBrowser()
let service: RunningService
let issuer: Issuer
beforeAll(async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  issuer = await openIssuer(`${url}/auth/callback`)
  service = await openService({
    environment: {
      WELLHEAD_PORT: String(port),
      WELLHEAD_PUBLIC_URL: url,
      WELLHEAD_OIDC_ISSUER: issuer.url,
      WELLHEAD_OIDC_CLIENT_ID: clientId,
      WELLHEAD_OIDC_CLIENT_SECRET: clientSecret,
      WELLHEAD_OIDC_ROLES: 'admin=ops,viewer=staff',
      WELLHEAD_OIDC_PROJECT_CLAIM: 'project',
      WELLHEAD_OIDC_CUSTOMER_SCOPES: 'query,search',
    },
  })
  const query = 'SELECT count() AS n FROM edge_logs'
  const made = { name: 'visits', query, published: true }
  expect((await ask(service, service.adminToken.token, 'POST', '/api/endpoints', made)).status).toBe(201)
  await logClient(() => service).send(
    'edge_logs',
    JSON.stringify([{ project: 'blue', message: 'hello blue' }]),
  )
})
afterAll(async () => {
  await service?.close()
  await issuer?.close()
})

/** Signs in on a window of their own. */
async function as(account: string, claims: Record<string, unknown>, journey: (page: Page) => Promise<void>) {
  issuer.account = account
  issuer.claims[account] = claims
  const context = await newContext(browser(), service)
  const page = await context.newPage()
  const complaints = collectComplaints(page)
  await page.goto('/console/endpoints')
  await page.getByRole('link', { name: 'Sign in with your account' }).click()
  await page.getByText('Signed in as').waitFor()
  expect(new URL(page.url()).pathname).toBe('/console/endpoints')
  await journey(page)
  await context.close()
  expect(complaints).toEqual([])
}

const links = (page: Page) =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents()

describe('people', () => {
  test('an admin is told that nobody has signed in yet', async () => {
    const options = { token: service.adminToken.token }
    const { page, complaints, close } = await openConsole(browser(), service, '/console/people', options)
    await page.getByRole('heading', { name: 'Nobody has signed in yet' }).waitFor()
    expect(await links(page)).toContain('People')
    expect(await faultsInThemes(page)).toEqual({})
    await close()
    expect(complaints).toEqual([])
  })

  test('an admin signs in, edits, is named in versions and in the audit, and signs out', () =>
    as('ada', { name: 'Ada Lovelace', email: 'ada@example.com', groups: ['ops'] }, async (page) => {
      await page.getByText('Ada Lovelace').first().waitFor()
      await follow(page, '/console/endpoints/visits?_tab=settings')
      await page.getByLabel('Description').fill('Counts visits')
      await page.getByRole('button', { name: 'Save as new version' }).click()
      await page.getByText('version 2', { exact: true }).waitFor()
      await follow(page, '/console/endpoints/visits?_tab=versions')
      await page.getByRole('button', { name: /Version 2 .*by Ada Lovelace/ }).waitFor()
      await page.getByRole('button', { name: /Version 1 .*by admin token/ }).waitFor()
      await follow(page, '/console/audit')
      const row = page.getByRole('row', { name: /Ada Lovelace endpoint\.update visits version 2/ })
      await row.waitFor()
      await page.getByRole('row', { name: /Ada Lovelace person\.sign_in/ }).waitFor()
      expect(await faultsInThemes(page)).toEqual({})
      await row.getByRole('button').click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('row', { name: /description .*Counts visits/ }).waitFor()
      await dialog.getByRole('button', { name: 'Close' }).click()
      await page.setViewportSize({ width: 1280, height: 800 })
      const second = await page.context().newPage()
      await second.goto('/console/tokens')
      await second.getByRole('heading', { name: 'Tokens', exact: true }).waitFor()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      await second.getByRole('heading', { name: 'Sign in' }).waitFor()
    }))

  test('a viewer reads everything, and is offered no changes', () =>
    as('vera', { name: 'Vera', groups: ['staff'] }, async (page) => {
      const shown = [
        'Overview',
        'Endpoints',
        'Playground',
        'Logs',
        'Dashboards',
        'Alerts',
        'Sources',
        'Projects',
        'Tables',
      ]
      expect((await links(page)).sort()).toEqual(shown.sort())
      expect(await page.getByRole('link', { name: 'New endpoint' }).count()).toBe(0)
      await page.getByRole('link', { name: 'visits', exact: true }).click()
      await page.getByText('Your role can try changes, but not save them.').waitFor()
      expect(await page.getByRole('button', { name: /Save|Create/ }).count()).toBe(0)
      await follow(page, '/console/alerts')
      await page.getByRole('heading', { name: 'Alerts', exact: true }).waitFor()
      expect(await page.getByRole('button', { name: 'New alert' }).count()).toBe(0)
      for (const path of ['/console/audit', '/console/people']) {
        await follow(page, path)
        await page.getByRole('heading', { name: 'Overview' }).waitFor()
      }
      await follow(page, '/console/logs?source=edge_logs')
      await page.getByText('hello blue').first().waitFor()
    }))

  test('an admin sees who signed in, and ends their sessions', () =>
    as('ada', { name: 'Ada Lovelace', email: 'ada@example.com', groups: ['ops'] }, async (page) => {
      issuer.account = 'mallory'
      issuer.claims.mallory = { name: 'Mallory', email: 'mallory@example.com', groups: ['staff'] }
      const context = await newContext(browser(), service)
      const other = await context.newPage()
      await other.goto('/')
      await other.getByRole('link', { name: 'Sign in with your account' }).click()
      await other.getByText('Signed in as').waitFor()
      await page.getByRole('link', { name: 'People' }).click()
      await page.getByRole('row', { name: /Ada Lovelace you ada@example\.com admin/ }).waitFor()
      const row = page.getByRole('row', { name: /Mallory mallory@example\.com viewer/ })
      await row.waitFor()
      expect(await faultsInThemes(page)).toEqual({})
      await page.getByLabel('Search people').fill('mallory viewer')
      await page.getByText('1 person', { exact: true }).waitFor()
      await row.getByRole('button', { name: 'End sessions of Mallory' }).click()
      const dialog = page.getByRole('dialog', { name: 'End all sessions of Mallory?' })
      await dialog.getByText('Mallory is signed out everywhere.').waitFor()
      expect(await faultsOf(page, 'dialog')).toEqual([])
      await dialog.getByRole('button', { name: 'End sessions' }).click()
      await dialog.waitFor({ state: 'detached' })
      await other.goto('/console/endpoints')
      await other.getByRole('heading', { name: 'Sign in' }).waitFor()
      await context.close()
      await row.getByRole('link', { name: 'Mallory' }).click()
      await page.getByRole('row', { name: /Mallory person\.sign_in/ }).waitFor()
      // Their own sessions, too.
      await follow(page, '/console/people')
      await page.getByRole('button', { name: 'End sessions of Ada Lovelace' }).click()
      await page.getByText('You are signed out').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'End sessions' }).click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    }))

  test('a customer sees the console of customers', () =>
    as('bob', { name: 'Bob', groups: ['ops'], project: 'blue' }, async (page) => {
      expect(await links(page)).toEqual(['Endpoints', 'Logs', 'Usage'])
      await page.getByText('Project blue').waitFor()
      await follow(page, '/console/logs?source=edge_logs')
      await page.getByText('hello blue').first().waitFor()
    }))

  test('somebody without a role gets a page that says why, and can go back', async () => {
    issuer.account = 'eve'
    issuer.claims.eve = { name: 'Eve', groups: ['other'] }
    const context = await newContext(browser(), service)
    const page = await context.newPage()
    await page.goto('/')
    await page.getByRole('link', { name: 'Sign in with your account' }).click()
    await page.getByText('The claim groups decides').waitFor()
    await page.getByRole('link', { name: 'Back to sign in' }).click()
    await page.getByLabel('Access token').waitFor()
    await context.close()
  })
})
