/** Plugin `journal`: writes requests and answers as JSON lines, in the background, after guards.
 *  Without the section `journal:` it costs nothing. */
import { object } from '../../engine/config/shape.ts'
import type { Exchange, Host, HostBase, Next, Plugin, Stage } from '../../engine/plugin.ts'
import { routeFormat } from '../conversion/route-format.ts'
import type { Format } from '../formats/format.ts'
import type { Codec } from '../formats/hub/codec.ts'
import { PARTS, PROMPT } from '../formats/hub/slots.ts'
import { ACCOUNT, MODEL } from '../slots.ts'
import { sweepBucket } from './bucket-writer.ts'
import { diagnoseJournal } from './doctor.ts'
import { bucketOf, Journal, LOSS_METRIC } from './journal.ts'
import { commands, offerToOperators, sectionOf } from './operator-part.ts'
import { checkSection } from './problems.ts'
import { CallRecord } from './record.ts'
import { type Rule, SECTION, type Section } from './section.ts'
import { migrations } from './tables.ts'

/** ms between two reads of consents. */
const INTERVAL = 1_000
/** ms between two removals of old objects of a bucket. */
const SWEEP_INTERVAL = 600_000

export default {
  schema: object(
    'Nothing to set: the section `journal:` says which calls are written.',
    {},
    {
      examples: [{}],
    },
  ).schema,
  default: {},
  after: ['auth', 'model', 'meter', 'translate', 'guard'],
  sections: { journal: SECTION.schema },
  migrations,
  commands,
  check: checkSection,
  doctor: diagnoseJournal,
  metrics: {
    [LOSS_METRIC]:
      'Calls that are not in the journal: the queue was full (`queue`), the disk or the bucket too slow (`dropped`) or failed (`failed`), or the call could not be read (`unreadable`).',
  },
  setup(_, host: Host): Stage {
    offerToOperators(host)
    const section = sectionOf(host)
    const journal = section && sharedJournal(host, section)
    const format = routeFormat(host)
    if (!journal || !format?.codec) return {}
    return new JournalStage(journal, section, { ...format, codec: format.codec })
  },
} satisfies Plugin<object>

/** One in each process, for one text of the section. */
const sharedJournal = (host: HostBase, section: Section): Journal => {
  const version = JSON.stringify(section)
  const journal = host.share('journal', version, () => new Journal(host, section))
  host.job('journal', INTERVAL, () => journal.readConsents(), { each: true })
  const bucket = bucketOf(section)
  if (bucket)
    host.job('journal bucket', SWEEP_INTERVAL, signal =>
      sweepBucket(bucket, section, Date.now(), signal),
    )
  return journal
}

class JournalStage implements Stage {
  readonly #journal: Journal
  readonly #section: Section
  readonly #format: Format & { readonly codec: Codec }
  constructor(journal: Journal, section: Section, format: Format & { readonly codec: Codec }) {
    this.#journal = journal
    this.#section = section
    this.#format = format
  }
  handle(exchange: Exchange, next: Next): Promise<void> {
    if (this.#wants(exchange)) this.#record(exchange)
    return next()
  }
  #wants(exchange: Exchange): boolean {
    const { slots, trace, kind } = exchange
    if (kind === 'websocket' || !this.#journal.mayWrite(slots.get(ACCOUNT)?.id)) return false
    const rule = this.#section.rules.find(each => fits(each, exchange))
    // The trace id decides, so that all calls of a trace are written, or none.
    return Number.parseInt(trace.slice(-8), 16) < (rule ?? this.#section).share * 2 ** 32
  }
  #record(exchange: Exchange): void {
    const record = new CallRecord(exchange, this.#format, this.#section.largest)
    exchange.slots.need(PROMPT).watch(prompt => record.setPrompt(prompt))
    exchange.slots.need(PARTS).watch(part => record.add(part))
    exchange.onEnd(outcome => this.#journal.add(record, outcome))
  }
}

const fits = ({ models, routes, accounts }: Rule, { slots, route }: Exchange): boolean => {
  const has = (names: readonly string[] | undefined, name: string | undefined) =>
    names === undefined || (name !== undefined && names.some(each => isNamed(each, name)))
  return (
    has(models, slots.get(MODEL)?.entry) &&
    has(routes, route.name) &&
    has(accounts, slots.get(ACCOUNT)?.name)
  )
}
const isNamed = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name
