/** The part of the journal for operators: consents of accounts, and the commands
 *  `tollgate journal` and `tollgate replay`. */
import type { Command, HostBase } from '../../engine/plugin.ts'
import { findAccount } from '../credentials/find.ts'
import { subcommandsOf } from '../operator/command-line.ts'
import { contribute, type JournalPart } from '../operator/contributions.ts'
import { journalOperations } from '../operator/operations/journal.ts'
import { findRecord } from './find-record.ts'
import { replay } from './replay.ts'
import { type RawSection, SECTION, type Section } from './section.ts'
import { CONSENTS, setConsent } from './tables.ts'

/** Undefined without the section. */
export const sectionOf = (host: Pick<HostBase, 'section'>): Section | undefined => {
  const raw = host.section<RawSection | undefined>('journal')
  return isPresent(raw) ? SECTION.read(raw) : undefined
}
const isPresent = (raw: RawSection | undefined): raw is RawSection =>
  raw !== undefined && Object.keys(raw).length > 0

const timeOf = (since: unknown): string => new Date(Number(since)).toISOString()
const PART: JournalPart = {
  async list({ database }) {
    const rows = await database.read(CONSENTS, [])
    return Promise.all(
      rows.map(async ({ account, since }) => {
        const owner = await findAccount(database, String(account), { isDeletedToo: true })
        return { account: owner.name, consents: true, since: timeOf(since) }
      }),
    )
  },
  async consent({ store, now }, { id, name }, isGiven) {
    const find = async () => {
      const row = (await store.read(CONSENTS, [])).find(({ account }) => Number(account) === id)
      return { consents: row !== undefined, since: row ? timeOf(row.since) : null }
    }
    const before = await find()
    await store.change([setConsent(id, isGiven, now)], {
      object: `account ${id}`,
      before: { journal: before.consents },
      after: { journal: isGiven },
    })
    return { account: name, ...(await find()) }
  },
}

/** Lets the operations of operators run. */
export const offerToOperators = (host: HostBase): void => {
  contribute(host, 'journal', sectionOf(host) && PART)
}

export const commands: Readonly<Record<string, Command>> = {
  journal: {
    summary: 'Shows calls of the journal, and the accounts that have consented to it.',
    subcommands: {
      ...subcommandsOf(journalOperations, offerToOperators),
      show: {
        summary: 'Shows a call of the journal, as JSON.',
        example: 'tollgate journal show req_01a0fbb03e31c86bb0a76a4f90aa3fd4',
        arguments: 'ID',
        async run({ positionals: [id = ''] }, host) {
          const record = await findRecord(host, sectionOf(host), id)
          return { text: JSON.stringify(record, undefined, 2), json: record }
        },
      },
    },
  },
  replay: {
    summary:
      'Sends a request of the journal again, to the same or another target. No account is charged.',
    example: 'tollgate replay req_01a0fbb03e31c86bb0a76a4f90aa3fd4 --to cl/claude-sonnet-4-5',
    arguments: 'ID',
    options: {
      to: {
        type: 'string',
        value: 'TARGET',
        summary: 'a model of `models:`, or UPSTREAM/NAME; default: the target of the call',
      },
    },
    run: async ({ positionals: [id = ''], values }, host) =>
      replay(host, await findRecord(host, sectionOf(host), id), values.to),
  },
}
