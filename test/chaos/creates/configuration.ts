/** The configuration of a run: the shipped one, the routes of docs/tasks.md for clients of new-api,
 *  a plan to buy and one that pays calls, and budgets that count each call. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { blocksOf } from '../../docs/blocks.ts'

const ROOT = join(import.meta.dirname, '../../..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
/** Settings that the gateway of a test does not set itself. */
const SETTINGS = /^ {2}(?:database|public_url|egress_allow|files|batch|currency):/
/** The plan that pays until its tokens are used up. */
export const PLAN = 'words'
export const BUDGETS = ['hour', 'month', 'seat', 'mate', 'purse'] as const
const TERMS: Readonly<Record<(typeof BUDGETS)[number], string>> = {
  hour: '{ of: account, amount: 1000000000, per: hour, zone: Asia/Kolkata }',
  month: '{ of: account, tokens: 10_000_000_000, per: month, zone: Europe/Berlin }',
  seat: '{ of: key, amount: 1000000, per: life }',
  mate: '{ of: member, tokens: 10_000_000_000, per: day }',
  purse: '{ of: member, amount: 1000000000, per: week }',
}
const LIMITS = `plans: { once: { amount: 5, per: month, price: 2 }, ${PLAN}: { tokens: 3_000, per: life } }
budgets: { ${BUDGETS.map(name => `${name}: ${TERMS[name]}`).join(', ')} }
`
const withSchemas = (text: string): string =>
  text.replaceAll(/(?<=[ :])schemas\//g, `${ROOT}/schemas/`)
const documented = (title: string): string =>
  blocksOf('docs/tasks.md').find(({ text }) => text.startsWith(`# ${title}\n`))?.text ?? ''

/** `suno`: the address of its upstream. */
export const configurationOf = (suno: string) => {
  const [, settings = '', rest = ''] =
    /^settings:\n((?: .*\n)+)([\s\S]*)/m.exec(read('routes.yaml')) ?? []
  const files = {
    'new-api.yaml': withSchemas(documented('Paths of new-api')),
    'suno.yaml': withSchemas(documented('Suno of new-api')).replace('https://suno.example', suno),
  }
  const models = `${ROOT}/models/*.yaml, ${Object.keys(files).join(', ')}`
  return {
    settings: settings
      .split('\n')
      .filter(line => SETTINGS.test(line))
      .map(line => line.trim())
      .join('\n'),
    routes: LIMITS + withSchemas(rest.replace('models/*.yaml', models)),
    files,
  }
}

export interface KeyedRoute {
  readonly name: string
  /** Its options, without path and credentials. */
  readonly options: readonly string[]
}
/** The routes that take an Idempotency-Key. */
export const keyedRoutes = (): readonly KeyedRoute[] => {
  const { routes, files } = configurationOf('')
  const texts = [routes, read('program/config/console.yaml'), ...Object.values(files)]
  return texts.flatMap(text =>
    (parse(text).routes as readonly Readonly<Record<string, unknown>>[])
      .filter(({ idempotency }) => idempotency !== undefined)
      .map(({ name, path: _path, auth: _auth, ...options }) => ({
        name: String(name),
        options: Object.keys(options).sort(),
      })),
  )
}
