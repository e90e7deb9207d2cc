import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** The service that `npx vite console` uses during development. */
const service = process.env.WELLHEAD_URL ?? 'http://127.0.0.1:4000'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  cacheDir: join(tmpdir(), 'wellhead-console'),
  plugins: [react()],
  build: {
    outDir: fileURLToPath(new URL('../dist/console', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    // The content security policy allows no inline scripts or images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      checks: { bundlerTimings: false },
      input: ['index.html', 'embed.html'].map((name) => fileURLToPath(new URL(name, import.meta.url))),
    },
  },
  server: {
    host: '127.0.0.1',
    port: 4311,
    // The service compares the host with the origin when somebody signs in.
    proxy: Object.fromEntries(
      ['/api', '/auth', '/health', '/ready', '/docs'].map((path) => [
        path,
        { target: service, changeOrigin: false },
      ]),
    ),
  },
})
