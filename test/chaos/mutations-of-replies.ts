/** Bugs on a reply's way out: what leaves before it is held, noted or charged, and what is charged for it. */
import { edit, type Mutation } from './mutation.ts'

const AT_ONCE = 'test/plugins/ledger/single-row-charge.test.ts'
const BILLED = 'test/rooms/billed.test.ts'
const RECEIPT = 'plugins/ledger/receipt-filter.ts'

export const ofReplies: readonly Mutation[] = [
  {
    bug: 'the last byte does not wait for the charge',
    edits: [
      edit(
        'engine/response/response-writer.ts',
        'if (!this.call.durable) return this.#complete(tail)',
        'if (tail) return this.#complete(tail)',
      ),
    ],
    tests: ['test/engine/response/gates.test.ts'],
  },
  {
    bug: 'what failed is charged',
    edits: [
      edit(
        'plugins/meter.ts',
        'if (exchange.reply.status >= 400) return call.release()',
        'if (exchange.reply.status >= 999) return call.release()',
      ),
    ],
    tests: [BILLED],
  },
  {
    bug: "the upstream's own counts are not believed",
    edits: [
      edit(
        'plugins/ledger/usage-estimator.ts',
        'if (usage && (!usage.estimated || usage.isFinalEstimate)) return usage',
        '',
      ),
    ],
    tests: [BILLED],
  },
  {
    bug: 'what was charged is given back to spend again',
    edits: [
      edit(
        'plugins/ledger/metered-call.ts',
        'this.#heldAmount - chargedAmount',
        'this.#heldAmount',
      ),
    ],
    tests: [BILLED],
  },
  {
    bug: 'the words of a stream leave before anybody notes them',
    edits: [
      edit(
        'plugins/ledger/usage-estimator.ts',
        '    this.#call.reportProgress(outputSoFar?.tokens ?? this.#units)\n',
        '',
      ),
    ],
    tests: ['test/chaos/chaos.test.ts'],
  },
  {
    bug: 'a stream that nobody asked for leaves without a hold',
    edits: [edit(RECEIPT, 'if (!isWhole) holdBeforeHead(exchange, call, estimator)', '')],
    tests: [AT_ONCE],
  },
  {
    bug: 'pieces of a plain answer leave before its charge',
    edits: [
      edit(RECEIPT, 'write(chunk: Bytes): void {', 'write(chunk: Bytes, out: Out): void {'),
      edit(RECEIPT, 'this.#parts.push(chunk)', 'out.write(chunk)'),
    ],
    tests: [AT_ONCE],
  },
]
