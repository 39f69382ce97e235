/** The columns and triggers of budgets in tokens. A window in tokens is a wallet like that of any
 *  other budget; its number says that it counts the tokens of a charge in place of its nanos. */
import { IS_REFUND } from '../views/usage-days.ts'
import { walletInSql } from '../wallet.ts'
import { NUMBERS, type Numbers } from './tables.ts'

/** `tokens_held`: the tokens that a call holds of each of its windows in tokens; `tokens`: what it
 *  has used, which may be more. Null: it has no such window. */
const COLUMNS = `
  ALTER TABLE charges ADD COLUMN tokens_held BIGINT;
  ALTER TABLE charges ADD COLUMN tokens BIGINT`

/** Where an earlier version settles a charge of this one, the tokens are unknown, and the hold is
 *  used. */
const usedOf = (row: string): string => `coalesce(${row}.tokens, ${row}.tokens_held, 0)`
const TOKENS_OF_HOLD = 'coalesce(NEW.tokens_held, 0)'
const USED_OF_HOLD = `CASE WHEN NEW.tokens < NEW.tokens_held THEN NEW.tokens ELSE ${TOKENS_OF_HOLD} END`

/** The part of a charge that a wallet counts. `row`: of `charges`; `wallet`: a number below 0. */
export const usedIn = (wallet: string, row: string): string =>
  `CASE WHEN ${walletInSql.countsTokens(wallet)} THEN ${usedOf(row)} ELSE ${row}.amount END`
/** The same of the hold. */
export const heldIn = (wallet: string, row: string): string =>
  `CASE WHEN ${walletInSql.countsTokens(wallet)} THEN coalesce(${row}.tokens_held, 0) ELSE ${row}.held END`
const usedOfHoldIn = (wallet: string): string =>
  `CASE WHEN ${walletInSql.countsTokens(wallet)} THEN ${USED_OF_HOLD} ELSE NEW.amount END`

const LIST = 'NEW.budgets'
const every = ({ value, of }: Numbers, list = LIST): string =>
  `(SELECT -abs(${value}) FROM ${of(list)})`
const holding = ({ value, of }: Numbers): string => `(SELECT ${value} FROM ${of(LIST)})`

const settled = (numbers: Numbers): string => `
    UPDATE shares SET amount = amount - ${usedOfHoldIn('wallet')}
      WHERE process = NEW.process AND wallet IN ${holding(numbers)};
    UPDATE wallets SET balance = balance - ${usedIn('id', 'NEW')}, used = used + ${usedIn('id', 'NEW')},
        reserved = reserved - CASE WHEN id NOT IN ${holding(numbers)} THEN 0
          WHEN NEW.process IS NULL THEN ${heldIn('id', 'NEW')} ELSE ${usedOfHoldIn('id')} END
      WHERE id IN ${every(numbers)};`
const released = (numbers: Numbers): string => `
    UPDATE wallets SET reserved = reserved - ${heldIn('id', 'NEW')} WHERE id IN ${holding(numbers)};`
/** A refund is added back to the windows from which its call was paid. */
const refunded = (numbers: Numbers): string => {
  const ofCharge = (column: string): string =>
    `(SELECT ${column} FROM charges c WHERE c.request = NEW.request)`
  const returned = `CASE WHEN ${walletInSql.countsTokens('id')} THEN ${ofCharge(usedOf('c'))} ELSE NEW.amount END`
  return `
    UPDATE wallets SET balance = balance + ${returned}, used = used - ${returned}
      WHERE id IN ${every(numbers, ofCharge('c.budgets'))};`
}

const TRIGGERS = { settled, released, refunded } as const
const EVENTS = {
  settled: `UPDATE OF state ON charges
    WHEN OLD.state = 'open' AND NEW.state = 'settled' AND NEW.budgets IS NOT NULL`,
  released: `UPDATE OF state ON charges
    WHEN OLD.state = 'open' AND NEW.state = 'released' AND NEW.process IS NULL AND NEW.budgets IS NOT NULL`,
  refunded: `INSERT ON credits WHEN ${IS_REFUND}`,
} as const
const NAMES = ['settled', 'released', 'refunded'] as const

/** The triggers of `budgets/tables.ts`, by the unit of each wallet. */
export const TOKEN_TABLES = {
  text: [
    COLUMNS,
    ...NAMES.flatMap(name => [
      `DROP TRIGGER budgets_${name}`,
      `CREATE TRIGGER budgets_${name} AFTER ${EVENTS[name]} BEGIN ${TRIGGERS[name](NUMBERS.sqlite)} END`,
    ]),
  ].join(';'),
  postgres: [
    COLUMNS,
    ...NAMES.map(
      name => `CREATE OR REPLACE FUNCTION tollgate_budget_${name}() RETURNS trigger
    LANGUAGE plpgsql AS $$ BEGIN ${TRIGGERS[name](NUMBERS.postgres)} RETURN NULL; END $$`,
    ),
  ].join(';'),
}
