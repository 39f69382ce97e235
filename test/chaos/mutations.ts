/** Money bugs that somebody could write, each as an edit of the tree, and the tests that must turn red at it. */

interface Edit {
  readonly file: string
  /** Found exactly once. */
  readonly find: string
  readonly put: string
}
export interface Mutation {
  readonly bug: string
  readonly edits: readonly Edit[]
  /** Any of them. */
  readonly tests: readonly string[]
}

const MODEL = 'test/plugins/ledger-model.property.test.ts'
const HOLDS = 'test/plugins/ledger-holds.test.ts'
const BILLED = 'test/journeys/billed.test.ts'
const TABLES = 'plugins/ledger/tables.ts'
const STATEMENTS = 'plugins/ledger/statements.ts'
const PROCESSES = 'plugins/ledger/processes.ts'
const edit = (file: string, find: string, put: string): Edit => ({ file, find, put })

export const mutations: readonly Mutation[] = [
  {
    bug: 'the last byte does not wait for the charge',
    edits: [
      edit(
        'engine/delivery.ts',
        'if (!this.call.durable) return this.#complete(tail)',
        'if (tail) return this.#complete(tail)',
      ),
    ],
    tests: ['test/engine/journey.test.ts'],
  },
  {
    bug: 'no unique request: the same call can be held and charged twice',
    edits: [edit(TABLES, 'request TEXT PRIMARY KEY,', 'request TEXT NOT NULL,')],
    tests: [MODEL, HOLDS],
  },
  {
    bug: 'check, then act: what is available is looked at, and not taken in the same step',
    edits: [
      edit(
        TABLES,
        'CONSTRAINT covered CHECK (limited = 0 OR balance - reserved >= -overdraft)',
        'CHECK (limited IN (0, 1))',
      ),
      edit(
        STATEMENTS,
        'WHERE id = ? AND ${ROOM} >= ? RETURNING granted',
        'WHERE id = ? AND ? > 0 RETURNING granted',
      ),
    ],
    tests: [MODEL, HOLDS],
  },
  {
    bug: 'a refund is given twice',
    edits: [edit(TABLES, 'request TEXT UNIQUE,', 'request TEXT,')],
    tests: [MODEL],
  },
  {
    bug: 'what was used is summed twice',
    edits: [edit('plugins/billing/sum.ts', '    sum += amount\n', '    sum += amount + amount\n')],
    tests: ['test/plugins/billing-price.test.ts', BILLED],
  },
  {
    bug: 'a price passes through a float',
    edits: [
      edit(
        'plugins/billing/sum.ts',
        '  quantity * price * (parts / per)',
        '  BigInt(Math.trunc(Number(quantity) * Number(price) * Number(parts / per)))',
      ),
    ],
    tests: ['test/plugins/billing-properties.test.ts'],
  },
  {
    bug: 'a charge that is closed is closed again',
    edits: [
      edit(
        TABLES,
        "WHEN OLD.state = 'open' AND NEW.state = 'settled' BEGIN ${SETTLED}",
        "WHEN NEW.state = 'settled' BEGIN ${SETTLED}",
      ),
      edit(
        TABLES,
        "    WHEN OLD.state <> 'open' BEGIN SELECT RAISE(ABORT, 'a closed charge does not change'); END;",
        "    WHEN OLD.state = 'never' BEGIN SELECT 1; END;",
      ),
      edit(
        STATEMENTS,
        "closed = ?\n   WHERE request = ? AND state = 'open'`",
        'closed = ?\n   WHERE request = ?`',
      ),
    ],
    tests: [MODEL, HOLDS],
  },
  {
    bug: 'what was charged stays reserved',
    edits: [edit(TABLES, 'reserved = reserved - NEW.amount * limited', 'reserved = reserved')],
    tests: [MODEL],
  },
  {
    bug: 'the dead keep what they hold',
    edits: [edit(PROCESSES, '  { sql: RELEASE_ALL, values: [now, process] },\n', '')],
    tests: [MODEL, HOLDS],
  },
  {
    bug: 'the living are buried',
    edits: [edit(PROCESSES, 'WHERE id = ? AND seen = ?', 'WHERE id = ? AND ? IS NOT NULL')],
    tests: [MODEL],
  },
  {
    bug: 'a process that was buried holds on',
    edits: [
      edit(
        STATEMENTS,
        "'open', ?, ? FROM ledger_processes WHERE id = ?`",
        "'open', ?, ? FROM (SELECT ? AS id)`",
      ),
    ],
    tests: [MODEL],
  },
  {
    bug: 'more is charged than is held',
    edits: [edit(TABLES, 'CHECK (amount >= 0 AND amount <= held)', 'CHECK (amount >= 0)')],
    tests: [MODEL, HOLDS],
  },
  {
    bug: 'an extension is not held',
    edits: [edit(STATEMENTS, 'SET held = held + ? WHERE', 'SET held = max(held, held - ?) WHERE')],
    tests: [MODEL],
  },
  {
    bug: 'what failed is charged',
    edits: [
      edit(
        'plugins/meter.ts',
        'if (exchange.reply.status >= 400) return bill.release()',
        'if (exchange.reply.status >= 999) return bill.release()',
      ),
    ],
    tests: [BILLED],
  },
  {
    bug: "the upstream's own counts are not believed",
    edits: [edit('plugins/ledger/estimate.ts', 'if (usage && !usage.estimated) return usage', '')],
    tests: [BILLED],
  },
  {
    bug: 'what was charged is given back to spend again',
    edits: [
      edit(
        'plugins/ledger/bill.ts',
        'return this.#held - (this.#charged ?? 0n)',
        'return this.#held',
      ),
    ],
    tests: [BILLED],
  },
  {
    bug: 'what was taken before a burial is given to the new life',
    edits: [
      edit('plugins/ledger/standing.ts', 'return this.#known === name', 'return name !== ""'),
    ],
    tests: ['test/plugins/ledger-buried.test.ts'],
  },
  {
    bug: 'an extension that was lost leaves the charge open for good',
    edits: [edit(STATEMENTS, "state = 'open' AND held < ?", "state = 'open' AND held > ?")],
    tests: ['test/plugins/ledger-extended.test.ts'],
  },
]
