import { describe, expect, test } from 'vitest'
import { runCommand } from '../../support/command.ts'
import type { RunningService } from '../../support/service.ts'
import { sharedService } from '../../support/shared-service.ts'
import { openPostgres, postgresPrograms } from './postgres.ts'

const token = '0d0e6b0c-91b0-4f1e-8e7c-1a2b3c4d5e6f'

let service: RunningService
sharedService((shared) => {
  service = shared
})

describe.skipIf(postgresPrograms === undefined)('wellhead import logflare', () => {
  test('imports the entries of Logflare once, however often it runs', async () => {
    const postgres = await openPostgres(postgresPrograms as string)
    try {
      const table = `_analytics.log_events_${token.replaceAll('-', '_')}`
      await postgres.sql(`
        CREATE SCHEMA _analytics;
        CREATE TABLE _analytics.sources (id bigint, name text, token uuid);
        INSERT INTO _analytics.sources VALUES (1, 'gotrue.logs.prod', '${token}'), (2, 'postgres.logs', gen_random_uuid());
        CREATE TABLE ${table} (id text PRIMARY KEY, body jsonb, event_message text, timestamp timestamp);
        INSERT INTO ${table} SELECT 'id-' || n, jsonb_build_object('id', 'id-' || n, 'timestamp', 1, 'project', 'default',
          'event_message', 'it''s entry ' || n, 'metadata', jsonb_build_object('level', 'info', 'number', n)),
          'it''s entry ' || n, now() AT TIME ZONE 'UTC' - n * interval '1 second' FROM generate_series(1, 2500) AS n;
        INSERT INTO ${table} VALUES ('old', '{"project":"default","event_message":"too old"}', 'too old', '2020-01-01');`)
      const command = ['import', 'logflare', '--postgres-url', postgres.url, '--url', service.url, '--json']
      const environment = { WELLHEAD_TOKEN: service.adminToken.token }
      const counts = { source: 'auth_logs', read: 2501, stored: 2500, rejected: 1 }
      const first = await runCommand(command, { environment })
      expect([first.code, first.stderr]).toEqual([0, expect.any(String)])
      expect(JSON.parse(first.stdout)).toEqual({ sources: [{ ...counts, already_stored: 0 }] })
      expect(first.stderr).toContain('2,500 entries stored in auth_logs, 1 entry rejected.')
      const again = await runCommand(command, { environment })
      expect(JSON.parse(again.stdout)).toEqual({ sources: [{ ...counts, already_stored: 2500 }] })
      const response = await service.call('/api/sql', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          query:
            "SELECT count() AS n, uniqExact(id) AS ids, max(event_message) AS last, any(metadata.level::String) AS level, min(timestamp > now() - INTERVAL 1 DAY) AS recent FROM auth_logs WHERE project = 'default'",
        }),
      })
      expect(await response.json()).toEqual({
        result: [{ n: 2500, ids: 2500, last: "it's entry 999", level: 'info', recent: 1 }],
      })
    } finally {
      await postgres.close()
    }
  })
})

test.each([
  [[], {}, /Name the database with --postgres-url/],
  [['--postgres-url', 'mysql://x/y'], {}, /must be a URL such as postgres:/],
  // As in the container of a self-hosted Supabase.
  [[], { POSTGRES_BACKEND_URL: 'mysql://x/y' }, /must be a URL such as postgres:/],
])('refuses %j with %j', async (flags, environment, message) => {
  const service = ['--url', 'http://127.0.0.1:1', '--token', 'x']
  const { stderr, code } = await runCommand(['import', 'logflare', ...flags, ...service], { environment })
  expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
})
