/** Writes the table of the admin listener's endpoints in docs/security.md: `npm run docs`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  type Access,
  accessOf,
  type EngineEndpoint,
} from '../../../engine/config/admin-endpoints.ts'
import { ADMIN_ENDPOINTS } from '../../../plugins/console/admin/endpoints.ts'

const PAGE = fileURLToPath(new URL('../../../docs/security.md', import.meta.url))
const TABLE = /(?<=<!-- endpoints: npm run docs -->\n)(?:\n\|[^\n]*(?:\n\|[^\n]*)*\n)?/

const OF_ENGINE: Readonly<Record<EngineEndpoint, string>> = {
  'GET /-/': 'Lists every endpoint.',
  'GET /-/health': 'Shows that the gateway runs, and its process id.',
  'GET /-/ready': 'Shows whether it can serve billed calls, with the reasons.',
  'GET /-/config':
    'Shows the live version, its routes, upstreams and workers, and the last failed reload.',
  'GET /metrics': 'Metrics for Prometheus.',
  'POST /-/reload': 'Loads the files and puts them live.',
  'POST /-/rollback': 'Puts an earlier version live.',
}
const OF_UPSTREAMS = {
  'GET /-/upstreams': 'Lists the addresses and keys of upstreams with their state.',
  'GET /-/upstreams/test': 'Asks each upstream for its models with each of its keys.',
}
const ACCESS_WORDS: Readonly<Record<Access, string>> = {
  open: 'everyone',
  metrics: 'metrics key',
  operator: 'operator',
}

const table = (): string => {
  const ofConsole = Object.entries(ADMIN_ENDPOINTS).map(
    ([name, { summary }]) => [name.replace(' ', ' /-/admin/'), summary] as const,
  )
  const all = [...Object.entries(OF_ENGINE), ...Object.entries(OF_UPSTREAMS), ...ofConsole]
  const rows = all.map(
    ([name, text]) => `| \`${name}\` | ${ACCESS_WORDS[accessOf(name)]} | ${text} |`,
  )
  return `\n| endpoint | over TCP | what it gives |\n|---|---|---|\n${rows.join('\n')}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace(TABLE, table))
