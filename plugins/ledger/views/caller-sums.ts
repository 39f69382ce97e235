/** The member of each charge, and the triggers of sums that tell calls of one key by different
 *  members apart. Charges of earlier versions have no member, and their sums no more than a key. */
import { IS_PLAN_SETTLED, planSettled } from '../plans/tables.ts'
import { addTagRefund, addTags, IS_TAGGED_INSERTED, IS_TAGGED_SETTLED } from './tag-days.ts'
import { byCaller, IS_REFUND, sumAllTokens, sumRefund, sumReleased } from './usage-days.ts'

/** `member` 0: the account itself; null: an earlier version wrote the row. Without a default no
 *  store rewrites the table. */
const MEMBER = 'ALTER TABLE charges ADD COLUMN member BIGINT'
const ALL_TOKENS = sumAllTokens(byCaller)
const TAGS = addTags(byCaller)
const TAG_REFUND = addTagRefund(byCaller)

/** All triggers of sums but the one that completes charges in one row of an earlier version, which
 *  have no member. */
const anew = (name: string, event: string, condition: string, work: string): string => `
  DROP TRIGGER ${name};
  CREATE TRIGGER ${name} AFTER ${event} WHEN ${condition} BEGIN ${work}; END`
const INSERTED = 'INSERT ON charges'
const CLOSED = 'UPDATE OF state ON charges'
const REFUNDED = 'INSERT ON credits'
const IS_UNSUMMED = "NEW.state = 'settled' AND NEW.summed IS NULL"
const IS_SETTLED = `OLD.state = 'open' AND ${IS_UNSUMMED}`
const IS_RELEASED = "OLD.state = 'open' AND NEW.state = 'released'"
const replace = (name: string, work: string): string => `
  CREATE OR REPLACE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    ${work}; RETURN NULL; END $$`

export const CALLER_SUMS = {
  text: [
    MEMBER,
    anew('charges_inserted', INSERTED, IS_UNSUMMED, ALL_TOKENS.sqlite),
    anew('charges_settled_sum', CLOSED, IS_SETTLED, ALL_TOKENS.sqlite),
    anew('charges_released_sum', CLOSED, IS_RELEASED, sumReleased(byCaller)),
    anew('credits_refunded', REFUNDED, IS_REFUND, sumRefund(byCaller)),
    anew('charges_plan_settled', CLOSED, IS_PLAN_SETTLED, planSettled(byCaller)),
    anew('charges_inserted_tags', INSERTED, IS_TAGGED_INSERTED, TAGS.sqlite),
    anew('charges_settled_tags', CLOSED, IS_TAGGED_SETTLED, TAGS.sqlite),
    anew('credits_refunded_tags', REFUNDED, IS_REFUND, TAG_REFUND.sqlite),
  ].join(';'),
  postgres: [
    MEMBER,
    replace('tollgate_sum_settled', ALL_TOKENS.postgres),
    replace('tollgate_sum_released', sumReleased(byCaller)),
    replace('tollgate_sum_refund', sumRefund(byCaller)),
    replace('tollgate_plan_settled', planSettled(byCaller)),
    replace('tollgate_sum_tags', TAGS.postgres),
    replace('tollgate_refund_tags', TAG_REFUND.postgres),
  ].join(';'),
} as const
