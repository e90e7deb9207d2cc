import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ask, makeToken } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import { freePort } from '../../support/network/free-port.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import type { RunningService } from '../../support/service.ts'

/** Starts nginx with a cache that stores every response, private ones and errors as well. */
async function openCachingProxy(target: string): Promise<string> {
  const { path, remove } = scratchDirectory()
  const port = await freePort()
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const config = `
    daemon off; master_process off; pid ${path}/pid; error_log stderr; events {}
    http {
      access_log off;
      ${temporary.map((kind) => `${kind}_temp_path ${path}/${kind};`).join(' ')}
      proxy_cache_path ${path}/cache keys_zone=all:1m;
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass ${target};
          proxy_http_version 1.1;
          proxy_cache all;
          proxy_cache_key $request_uri;
          proxy_ignore_headers Cache-Control Expires;
          proxy_cache_valid any 10m;
          add_header X-Proxy-Cache $upstream_cache_status always;
        }
      }
    }`
  writeFileSync(join(path, 'nginx.conf'), config)
  const nginx = spawn(process.env.NGINX_PATH ?? 'nginx', ['-p', path, '-c', join(path, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  onTestFinished(async () => {
    const ended = once(nginx, 'exit')
    if (nginx.kill()) await ended
    remove()
  })
  const url = `http://127.0.0.1:${port}`
  await expect
    .poll(() =>
      fetch(`${url}/health`).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    .toBe(true)
  return url
}

export function describeSharedProxy(running: () => RunningService): void {
  describe('a proxy that stores private responses', () => {
    test('sends each token its own', async () => {
      const service = running()
      const query = 'SELECT project, event_message FROM realtime_logs'
      const admin = service.adminToken.token
      await ask(service, admin, 'POST', '/api/endpoints', {
        published: true,
        name: 'proxied',
        query,
        cache_seconds: 600,
      })
      const entries = ['proxy-a', 'proxy-b'].map((project) => ({ project, event_message: `of ${project}` }))
      await logClient(running).send('realtime_logs', JSON.stringify(entries))
      const tenant = async (project: string) =>
        (await makeToken(service, { scopes: ['query'], project, description: project })).token
      const [a, b] = [await tenant('proxy-a'), await tenant('proxy-b')]
      const callers: Record<string, string>[] = [
        { 'X-API-KEY': a },
        { 'X-API-KEY': b },
        { 'X-API-KEY': 'wh_wrong' },
        {},
        { Authorization: `Bearer ${b}` },
        { Authorization: `Bearer ${a}` },
        { 'X-API-KEY': admin },
      ]
      const proxy = await openCachingProxy(service.url)
      for (const path of ['/api/endpoints/query/proxied', '/api/whoami', '/api/endpoints', '/openapi.json']) {
        // The second time, the proxy has responses to all of them.
        for (const headers of [...callers, ...callers]) {
          const get = async (url: string) => {
            const answer = await ask({ ...service, url }, undefined, 'GET', path, undefined, headers)
            delete answer.body.error?.request_id
            return { cache: answer.headers.get('x-proxy-cache'), got: [answer.status, answer.body] }
          }
          const own = await get(service.url)
          const passed = await get(proxy)
          const stored = await get(proxy)
          expect([path, headers, passed.got]).toEqual([path, headers, own.got])
          expect([path, headers, stored]).toEqual([path, headers, { cache: 'HIT', got: own.got }])
        }
      }
      const { body } = await ask(service, a, 'GET', '/api/endpoints/query/proxied')
      expect(body).toEqual({ result: [{ project: 'proxy-a', event_message: 'of proxy-a' }] })
    })
  })
}
