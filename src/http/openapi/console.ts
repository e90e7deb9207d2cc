import { alike, inPath } from './operation.ts'

const page = { description: 'A page.', content: { 'text/html': { schema: { type: 'string' } } } }
const parameter = inPath('page', 'Which page.', 'endpoints')

export const consoleOperations = alike({ tag: 'Console', access: 'public' }, [
  {
    method: 'get',
    path: '/',
    id: 'getConsole',
    summary: 'The console',
    description: 'It shows nothing without a token, which it asks for.',
    answers: { 200: page },
    errors: [404],
  },
  {
    method: 'get',
    path: '/console/{page}',
    id: 'getConsolePage',
    summary: 'A page of the console',
    parameters: [parameter],
    answers: { 200: page },
    errors: [404],
  },
  {
    method: 'get',
    path: '/console/{page}/{name}',
    id: 'getConsolePageOf',
    summary: 'A page of the console, about one thing',
    parameters: [parameter, inPath('name', 'What it is about.', 'logs.all')],
    answers: { 200: page },
    errors: [404],
  },
  {
    method: 'get',
    path: '/console/assets/{file}',
    id: 'getConsoleFile',
    summary: 'Code and looks of the console',
    parameters: [inPath('file', 'Name of the file.', 'index.js')],
    answers: {
      200: {
        description: 'The file.',
        content: {
          'text/javascript': { schema: { type: 'string' } },
          'text/css': { schema: { type: 'string' } },
        },
      },
    },
    errors: [404],
  },
])
