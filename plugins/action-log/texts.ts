/** Actions as views of the API, and as lines for log collectors: JSON, and the Common Event Format
 *  (CEF). Pure. */
import type { Json } from '../../engine/plugin.ts'
import type { ActionView } from '../views.ts'
import type { ActionRow } from './action.ts'

export const viewOf = (row: ActionRow): ActionView => {
  const entry = JSON.parse(row.entry) as Partial<ActionView>
  return {
    seq: row.seq,
    at: new Date(row.at).toISOString(),
    actor: row.actor,
    via: entry.via ?? '',
    account: entry.account ?? null,
    credential: entry.credential ?? null,
    user: entry.user ?? null,
    address: entry.address ?? null,
    request: entry.request ?? null,
    operation: row.operation,
    object: row.object,
    before: entry.before ?? null,
    after: entry.after ?? null,
    key: row.key,
    prev: row.prev,
    mac: row.mac,
  }
}

const head = (text: string): string => text.replace(/[\\|]/g, '\\$&')
const value = (text: string): string =>
  text.replace(/[\\=]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
const jsonText = (part: Json): string | null => (part === null ? null : JSON.stringify(part))
/** Refused sign-ins have a higher one. */
const severityOf = ({ operation }: ActionView): number => (operation === 'sign-in refused' ? 6 : 3)
const cef = (view: ActionView, release: string): string => {
  const fields: Readonly<Record<string, string | number | null>> = {
    rt: Date.parse(view.at),
    externalId: view.seq,
    suser: view.actor,
    suid: view.account,
    src: view.address,
    sproc: view.via,
    msg: view.object,
    act: view.operation,
    cs1Label: 'credential',
    cs1: view.credential ?? view.user,
    cs2Label: 'request',
    cs2: view.request,
    cs3Label: 'before',
    cs3: jsonText(view.before),
    cs4Label: 'after',
    cs4: jsonText(view.after),
    cs5Label: 'mac',
    cs5: view.mac,
  }
  const extension = Object.entries(fields)
    .filter(([name, each]) => each !== null && fields[name.replace(/Label$/, '')] !== null)
    .map(([name, each]) => `${name}=${value(String(each))}`)
  const { operation } = view
  const heads = ['CEF:0', 'Tollgate', 'Tollgate', release, operation, operation, severityOf(view)]
  return `${heads.map(each => head(String(each))).join('|')}|${extension.join(' ')}`
}

export const FORMATS = ['jsonl', 'cef'] as const
/** One line, without its end. */
export const lineOf = (view: ActionView, format: (typeof FORMATS)[number]): string =>
  format === 'jsonl' ? JSON.stringify(view) : cef(view, '1')
