/** Lists of numbers in statements: a JSON list that is one parameter, and the days of a period. */

/** A condition behind a column. Parameter: the list. */
export const IN_LIST = {
  sqlite: 'IN (SELECT l.value FROM json_each(?) l)',
  postgres:
    '= ANY (ARRAY(SELECT CAST(l.value AS BIGINT) FROM json_array_elements_text(CAST(? AS json)) AS l (value)))',
} as const

/** A table with a row for each day. Parameters: the first day, the day after the last. */
export const DAYS = `(WITH RECURSIVE days (day) AS (SELECT CAST(? AS BIGINT)
        UNION ALL SELECT day + 1 FROM days WHERE day + 1 < CAST(? AS BIGINT))
      SELECT day FROM days)`
