/** Bugs in the usage of a call: estimates, impossible counts, limits and refusals. */
import { edit, type Mutation } from './mutation.ts'

const ESTIMATE = 'test/plugins/translate/usage-estimate.test.ts'
const REFUSED = 'test/plugins/ledger/refused.test.ts'
const BILLED = 'test/suites/billed.test.ts'
const ANSWER = 'plugins/translate/response/answer-usage.ts'
const METERED_CALL = 'plugins/ledger/metered-call.ts'
const UNDO = 'plugins/undo/undo.ts'

export const ofUsage: readonly Mutation[] = [
  {
    bug: 'a plain answer without counts is estimated by the bytes of its JSON',
    edits: [
      edit(
        ANSWER,
        'const text = whole ? (this.#readText()?.tokens ?? 0) : this.tokens',
        'const text = this.#unreadChunks ? Math.ceil(this.#unreadBytes / 4) : this.tokens',
      ),
    ],
    tests: [ESTIMATE],
  },
  {
    bug: 'counts that are negative, fractional or beyond 2^53 are accepted',
    edits: [
      edit(
        'plugins/formats/fields.ts',
        'Number.isSafeInteger(value) && value >= 0',
        'Number.isFinite(value)',
      ),
    ],
    tests: [ESTIMATE],
  },
  {
    bug: 'a part of the counts is not bounded by its whole',
    edits: [
      edit(
        'plugins/formats/stream/reported-usage.ts',
        'Math.min(count(value), limit)',
        'count(value)',
      ),
    ],
    tests: [ESTIMATE],
  },
  {
    bug: 'a call is charged more than twice its hold',
    edits: [
      edit(
        'plugins/ledger/call-charge.ts',
        'hasHostedTools ? undefined : heldAmount * MAX_HOLD_MULTIPLE',
        'undefined',
      ),
    ],
    tests: [BILLED],
  },
  {
    bug: 'an answer without an upstream is charged',
    edits: [edit('plugins/ledger/usage-estimator.ts', 'attempts === 0 && !this.#usage', 'false')],
    tests: [REFUSED],
  },
  {
    bug: 'a refused call stays charged',
    edits: [
      edit(
        METERED_CALL,
        'if (chargedAmount !== undefined || !writes.isConfirmed) return this.#refund(closing)',
        '',
      ),
    ],
    tests: [REFUSED],
  },
  {
    bug: 'a refused call is not charged although its fault says that it is paid',
    edits: [edit(UNDO, "end === 'refused' && !fault?.paid", "end === 'refused'")],
    tests: [REFUSED],
  },
  {
    bug: 'a stream that a filter ends in a fault is not charged',
    edits: [
      edit(
        'engine/response/response-writer.ts',
        '    if (reply.endFault) this.#endSource(reply.endFault)\n',
        '',
      ),
    ],
    tests: [REFUSED],
  },
  {
    bug: 'data behind [DONE] is delivered',
    edits: [
      edit(
        'plugins/formats/stream/stream-watch.ts',
        "if (this.#hasTail && this.#marks.facts.afterEnd === 'dropped') return this.#drop(bytes)",
        '',
      ),
    ],
    tests: [ESTIMATE],
  },
  {
    bug: 'text behind the last counts is delivered and not charged',
    edits: [edit(ANSWER, 'output + Math.max(0, uncountedTokens)', 'output')],
    tests: [ESTIMATE],
  },
]
